// Emulated queries while a command buffer is recorded: which are active, which records their
// commands count into, and the commands that work out the results.
//
// Commands of one pipeline share a record for as long as the same queries are active. Outside of
// render passes, at the latest at the end of the command buffer, a dispatch adds what the records
// have counted to the queries that were active, sets the records to 0 again (so the same recording
// may be submitted again), and a second one makes the queries that have ended available. A
// secondary command buffer that inherits a condition or a render pass leaves that to the primary
// that executes it. One that inherits queries works out its own, and keeps what the records have
// counted for the primary's. While a query of the driver's counts compute invocations, all this
// waits, unless results are copied or reset.
//
// Used by one thread at a time, as the command buffer is. Its memory goes back at reset().
#pragma once

#include <vulkan/vulkan_core.h>

#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "counters/memory/record_pool.h"
#include "counters/memory/word_pages.h"
#include "counters/objects/render_passes.h"
#include "counters/queries/batch.h"
#include "counters/queries/condition.h"
#include "counters/queries/indirect_counts.h"
#include "counters/queries/pool.h"
#include "counters/shader/program.h"

namespace tally::counters {

class Device;
class QueryPrograms;

class QueryRecorder {
 public:
  QueryRecorder(Device& device, VkCommandBuffer commands, bool secondary);
  ~QueryRecorder() { reset(); }
  QueryRecorder(const QueryRecorder&) = delete;
  QueryRecorder& operator=(const QueryRecorder&) = delete;

  void reset();
  // A secondary command buffer that queries of the primary may go on in.
  void inherit(const VkCommandBufferInheritanceInfo& info, const RenderPassShape& shape);

  // `index`: of a vertex stream.
  VkResult begin(const std::shared_ptr<QueryPool>& pool, uint32_t query, uint32_t index = 0);
  VkResult end(const std::shared_ptr<QueryPool>& pool, uint32_t query, uint32_t index = 0);
  // A timestamp: here, or behind the render pass.
  VkResult write_timestamp(const std::shared_ptr<QueryPool>& pool, uint32_t query);
  // One that begins in a render pass ends there.
  void begin_condition(const VkConditionalRenderingBeginInfoEXT& condition) {
    conditioned_ = true;
    if (!in_pass_) condition_.begin(condition);
  }
  void end_condition() {
    conditioned_ = false;
    condition_.end();
  }
  // Whether commands may be recorded twice, with a counting pipeline for the passes that count and
  // with the application's for those that do not; then the GPU leaves one of them out.
  bool runs_twice() const;
  VkResult begin_variant(bool counting);
  void end_variant() const;
  // Some query is active that counts in shaders.
  bool counts_shaders() const { return shader_targets_ != 0 || feedback_; }
  bool active() const { return !active_.empty() || inherits_ || feedback_; }

  void count(CommandMetric metric, uint64_t number = 1) {
    totals_[static_cast<size_t>(metric)] += number;
  }
  // A command that is counted on the GPU. Where that is possible now, its arguments are copied.
  VkResult count_indirect(const IndirectCommand& command, const DrawFacts& facts);
  // Transform feedback begins, which is counted from here on. `start`: where the driver's counters
  // are to be left before it does, so that the GPU knows where it begins; they are 0 if not.
  VkResult begin_feedback(const probe::QueryFeedback& description, FeedbackStart& start);
  void end_feedback();
  // VK_INTEL_performance_query.
  void set_marker(uint64_t marker) { marker_ = marker; }
  void set_stream_marker(uint32_t marker) { stream_marker_ = marker; }
  // A command ran that should have been counted, and was not.
  void count_error() { ++errors_; }

  using Record = SharedRecord;
  // The record of the commands with this program.
  VkResult record(const std::shared_ptr<const Program>& program, uint32_t shards_log2,
                  Record& record);
  // A record that others read too, with as much zeroed memory behind it for what was read before.
  void share(const std::shared_ptr<const Program>& program, const Record& record, uint64_t bytes);
  VkResult next_words(WordPage& page, uint32_t& index) { return word_pages_.next(page, index); }
  // What stands in them; the record is left out in passes of performance queries that count
  // nothing.
  struct Words {
    WordPage page;
    uint32_t index = 0;
    uint64_t record = 0;
    uint64_t region = 0;
  };
  void note_words(const Words& words);

  // Around render passes. A suspended one goes on.
  void begin_pass(const RenderPassShape& shape, bool suspending);
  void continue_pass() { in_pass_ = true; }
  void next_subpass() { ++subpass_; }
  void end_pass() { in_pass_ = suspending_; }

  void execute(const QueryRecorder& secondary);

  // A query of the driver's that counts what the layer dispatches.
  void begin_drivers_statistics() { ++drivers_statistics_; }
  void end_drivers_statistics() {
    if (drivers_statistics_ > own_drivers_statistics()) --drivers_statistics_;
  }

  // Whether there is something to work out that may be worked out here.
  bool in_pass() const { return in_pass_; }
  bool ready() const { return can_work() && drivers_statistics_ == 0 && !waits(); }
  // The same, where results of the pool are needed now.
  bool needs_results(const QueryPool& pool) const;
  // Copies what the GPU is to count from, where the rest has to wait.
  void copy_inputs();
  // Records the commands for it. They change what is bound.
  VkResult flush();
  // The same, into a command buffer that is executed behind.
  VkResult flush_into(VkCommandBuffer behind);

  // Results of queries into a buffer, with the layer's own dispatch.
  VkResult copy_results(const QueryPool& pool, const QueryPool::Request& request, VkBuffer target,
                        VkDeviceSize target_offset);

  // Before a submission: which pass of performance queries it makes.
  void set_pass(uint32_t pass);

 private:
  static constexpr VkAccessFlags kShaderAccess =
      VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT;
  static constexpr VkAccessFlags kTransferAccess =
      VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
  static constexpr VkAccessFlags kAnyAccess =
      VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT;

  struct Active {
    std::shared_ptr<QueryPool> pool;
    uint32_t query = 0;
    uint32_t index = 0;
    uint32_t views = 1;
    uint64_t errors = 0;  // before
    std::array<uint64_t, kCommandMetrics> totals{};
    uint32_t uncounted = 0;  // programs that left out what it counts
    // What commands assemble goes to stream 0.
    bool counts_commands() const { return index == 0; }
  };
  // Whether there is work that may be done here: not what would be dropped in a condition of
  // whoever executes this, and not what only they need.
  bool can_work() const {
    return !work_.empty() && !in_pass_ && !defers_timestamps_ && (!inherits_ || work_.settles());
  }
  uint32_t own_drivers_statistics() const { return inherits_drivers_statistics_ ? 1 : 0; }
  VkResult keep_inherited(QueryWork& kept);
  // What can wait does so while a query takes the time of what it measures.
  bool waits() const;
  VkResult record_timestamp(const QueryTimestamp& timestamp);
  // Transform feedback that is active.
  struct Feedback {
    probe::QueryFeedback span;
    uint64_t primitives = 0;  // before the span
  };
  VkResult open_span();
  void close_span();
  void add_feedback_target(std::vector<QueryTarget>& targets) const;
  VkResult copy_mixed(const QueryPool& pool, const QueryPool::Request& request,
                      const RecordPage& ours, VkBuffer target, VkDeviceSize target_offset);
  uint64_t constant(const QuerySource& source, const Active& query) const;
  // A command buffer that was executed since work was last done.
  struct Executed {
    const QueryRecorder* secondary;
    uint32_t changes;
  };
  bool is_again(const QueryRecorder& secondary);
  void take_uses(const QueryRecorder& secondary);
  void begin_interval();
  void copy_arguments(const QueryArguments& indirect) const;
  VkResult add_indices(const IndirectCommand& command, probe::QueryIndirect& operation);
  void note_uncounted(const Program& program);
  RecordBinding& add_use(const std::shared_ptr<const Program>& program, const Record& record);
  // Where records with any number of shards may stand.
  VkResult reserve(uint64_t bytes, VkDeviceAddress& address);
  void record_flush(const QueryPrograms& programs, VkDeviceAddress batch,
                    const probe::QueryBatch& header, VkDeviceAddress spans);
  void copy_times() const;
  void finish_without_rows(const FinishedQuery& finish) const;
  void barrier(VkPipelineStageFlags from, VkAccessFlags wrote, VkPipelineStageFlags to,
               VkAccessFlags uses) const;

  Device& device_;
  VkCommandBuffer commands_;
  bool secondary_;
  bool inherits_ = false;  // queries that the layer emulates
  bool inherits_drivers_statistics_ = false;
  uint32_t drivers_statistics_ = 0;  // active, of the driver's, that count dispatches
  bool in_pass_ = false;
  bool suspending_ = false;
  bool defers_timestamps_ = false;  // whoever executes this may drop dispatches
  bool conditioned_ = false;        // by the application, inside of render passes too
  Condition condition_;
  RenderPassShape shape_;  // of the current pass
  uint32_t subpass_ = 0;
  uint32_t shader_targets_ = 0;
  uint32_t times_apart_ = 0;  // active queries of which passes count, others take the time
  uint64_t errors_ = 0;
  std::optional<uint64_t> marker_;
  std::optional<uint32_t> stream_marker_;
  std::array<uint64_t, kCommandMetrics> totals_{};
  std::vector<Active> active_;
  std::optional<Feedback> feedback_;
  QueryWork work_;
  std::vector<Executed> executed_;
  uint32_t changes_ = 0;       // queries that have begun or ended
  size_t interval_begin_ = 0;  // first use of the current interval
  std::vector<std::shared_ptr<QueryPool>> kept_pools_;
  std::vector<RecordPage> pages_;
  VkDeviceSize used_ = 0;  // of the last page
  QueryBatches batches_;
  WordPages word_pages_;
  // Set before a submission to whether its pass counts; those of executed secondaries follow.
  std::optional<HostBlock> condition_word_;
  std::vector<HostBlock> condition_words_;
  std::vector<Words> words_;  // only where there are performance queries
};

}  // namespace tally::counters
