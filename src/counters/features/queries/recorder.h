// Timestamp queries, and the time between the begin and the end of other queries.
#pragma once

#include <vulkan/vulkan_core.h>

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "counters/features/queries/active_queries.h"
#include "counters/features/queries/batch.h"
#include "counters/features/queries/command_recorders.h"
#include "counters/features/queries/indirect_counts.h"
#include "counters/features/queries/state.h"
#include "counters/memory/device_memory.h"
#include "counters/pipelines/pipeline_contents.h"

namespace tally::counters {

class QueryTimes {
 public:
  QueryTimes(const QueryContext& context, QueryBatches& batches)
      : context_(context), batches_(batches) {}

  // Timestamps of the driver around a query whose kind takes the time.
  void write_begin(const QueryPool& pool, uint32_t query) const;
  void write_end(const QueryPool& pool, uint32_t query) const;
  // Copies those of the finished queries to their slots.
  void copy(std::span<const FinishedQuery> finished) const;

  // Records a timestamp of the layer. Not inside a render pass.
  VkResult record(const QueryTimestamp& timestamp);

 private:
  const QueryContext& context_;
  QueryBatches& batches_;
};

// vkCmdCopyQueryPoolResults for emulated queries: a dispatch of the layer writes the results into
// memory of the layer, from where they are copied to the application's buffer.

class ResultCopy {
 public:
  ResultCopy(const QueryContext& context, QueryMemory& memory, QueryBatches& batches)
      : context_(context), memory_(memory), batches_(batches) {}

  VkResult record(const QueryPool& pool, const QueryPool::Request& request,
                  const Condition& condition, const NamedMemory& target);

 private:
  VkResult copy_mixed(const QueryPool& pool, const QueryPool::Request& request,
                      const RecordPage& layer_page, const NamedMemory& target);

  const QueryContext& context_;
  QueryMemory& memory_;
  QueryBatches& batches_;
};

// One recording serves all passes of a performance query. Before each submission the host selects
// its pass: whether shaders count, and which of two recordings of a command the GPU executes.

// Record pointers that shaders read through a descriptor set.
struct DescriptorPointers {
  WordPage page;
  uint32_t index = 0;
  uint64_t record = 0;  // null in passes that count nothing
  uint64_t region = 0;
};

class PassSelection {
 public:
  PassSelection(const QueryContext& context, QueryBatches& batches)
      : context_(context), batches_(batches) {}

  void reset();
  // Around a command that is recorded twice, by conditional rendering: the GPU executes the
  // counting variant in passes that count, and the other in passes that take the time.
  VkResult begin_variant(bool counting);
  void end_variant() const;
  void add(const DescriptorPointers& pointers);
  // Executed command buffers belong to the same submission.
  void follow(const PassSelection& executed);
  // Before a submission.
  void select(uint32_t pass) const;

 private:
  const QueryContext& context_;
  QueryBatches& batches_;
  std::optional<HostBlock> condition_;  // of this command buffer
  std::vector<HostBlock> conditions_;   // with those of executed ones
  std::vector<DescriptorPointers> pointers_;
};

// Emulated queries while a command buffer is recorded: which are active, into which records their
// commands count, and the commands that resolve the results.
//
// Commands of one pipeline share a record while the same queries are active. Outside of render
// passes, at the latest at the end of the command buffer, pending work is resolved: one dispatch
// adds the counters of the records to the queries that were active and zeroes the records, so that
// the recording may be submitted again; a second dispatch makes finished queries available.
//
// A secondary command buffer that inherits conditional rendering or a render pass leaves its work
// to the primary. One that inherits queries resolves its own, and keeps the counts for those of the
// primary. While a query of the driver counts compute invocations, work stays pending unless
// results are copied or reset.
//
// Used by one thread at a time, as the command buffer is. reset() returns the memory.

class QueryRecorder {
 public:
  // `descriptors`: what the application uses.
  QueryRecorder(QueryState& state, VkCommandBuffer commands, const DescriptorMode& descriptors);
  QueryRecorder(const QueryRecorder&) = delete;
  QueryRecorder& operator=(const QueryRecorder&) = delete;

  void reset();
  // This is a secondary command buffer in which queries of the primary may go on.
  void inherit(const VkCommandBufferBeginInfo& info, const RenderPassShape& shape, bool suspending);
  void execute(const QueryRecorder& secondary);

  // --- queries
  // Finding a pool takes a lock, so the last one is remembered. A pool outlives the recording.
  template <typename Find>
  const std::shared_ptr<QueryPool>& pool(VkQueryPool handle, const Find& find) {
    if (known_pool_.handle != handle) known_pool_ = {handle, find(handle)};
    return known_pool_.pool;
  }
  VkResult begin(const QueryKey& key);
  VkResult end(const QueryKey& key);
  // Inside a render pass the timestamp is written when the pass has ended.
  VkResult write_timestamp(const std::shared_ptr<QueryPool>& pool, uint32_t query);
  VkResult copy_results(const QueryPool& pool, const QueryPool::Request& request,
                        const NamedMemory& target);
  // True if a query counts commands.
  bool counts_commands() const {
    return active_.count_commands() || inherited_.any() || feedback_.active();
  }
  // True if a query needs the arguments of commands.
  bool reads_arguments() const { return active_.read_arguments() || feedback_.active(); }
  // True if a query counts in shaders.
  bool counts_shaders() const { return active_.count_in_shaders() || feedback_.active(); }

  // --- commands
  void count(CommandMetric metric, uint64_t number = 1) { totals_.count(metric, number); }
  // A command should have been counted and was not.
  void count_error() {
    ++totals_.errors;
    if (samples_.counting()) --totals_.sample_errors;
  }
  // The arguments of a command are not known.
  void count_unread() { ++totals_.unread; }
  void set_marker(uint64_t marker) { totals_.marker = marker; }
  void set_stream_marker(uint32_t marker) { totals_.stream_marker = marker; }
  // The GPU counts this command from a copy of its arguments.
  VkResult count_indirect(const IndirectCommand& command, const DrawFacts& facts);
  VkResult begin_feedback(const probe::QueryFeedback& description, FeedbackStart& start);
  void end_feedback();
  // Conditional rendering of the application. If it begins in a render pass, it ends there.
  template <typename BeginInfo>
  void begin_condition(const BeginInfo& condition) {
    conditioned_ = true;
    if (!in_pass_) condition_.begin(condition);
  }
  void end_condition();
  // Queries of the driver that would count dispatches of the layer.
  void begin_driver_statistics() { inherited_.begin_driver_statistics(); }
  void end_driver_statistics() { inherited_.end_driver_statistics(); }

  // --- samples. A draw inside a query of the driver does not count samples in its shaders.
  bool counts_samples() const { return active_.count_samples(); }
  // Before a draw, if counts_samples().
  VkResult count_samples_by(SampleCounter counter);
  // True if nothing counts those of the last draw exactly.
  bool lacks_samples() const { return lacks_samples_; }
  // Before what may not lie inside a query of the driver: the end of a subpass, the execution of
  // secondary command buffers.
  void end_samples();

  // --- records
  // The record of the commands with this program.
  VkResult find_record(const std::shared_ptr<const Program>& program, uint32_t shards_log2,
                       SharedRecord& record);
  // Commands with one program share a record until this number changes. Never 0.
  uint32_t interval() const { return interval_; }
  // A record of VK_ARM_shader_instrumentation, which `bytes` of zeroed memory follow: there the GPU
  // keeps what queries have already read.
  void share(const std::shared_ptr<const Program>& program, const SharedRecord& record,
             uint64_t bytes);
  VkResult next_words(WordPage& page, uint32_t& index) { return word_pages_.next(page, index); }

  // --- passes of performance queries
  // True if a command may be recorded twice, for passes that count and for passes that do not.
  bool runs_twice() const;
  bool times_apart() const { return active_.time_apart(); }
  PassSelection& passes() { return passes_; }

  // --- render passes. A suspended render pass continues in another instance.
  void begin_pass(const RenderPassShape& shape, bool suspending);
  void continue_pass() { in_pass_ = true; }
  void next_subpass() { ++subpass_; }
  void end_pass() { in_pass_ = suspending_; }
  bool in_pass() const { return in_pass_; }

  // --- pending work
  // True if there is any that can be resolved here.
  bool ready() const;
  // The same, if results of the pool are needed now.
  bool needs_results(const QueryPool& pool) const;
  // Copies the inputs of work that has to wait.
  VkResult copy_inputs();
  // Records the commands that resolve it. They change what is bound.
  VkResult resolve();
  // The same, into a command buffer that is executed after this one.
  VkResult resolve_into(VkCommandBuffer behind);

 private:
  bool can_resolve() const {
    return !work_.empty() && !in_pass_ && !inherited_.conditional() &&
           (!inherited_.any() || work_.has_finished());
  }
  bool may_wait() const;
  uint32_t views() const;
  void keep(const std::shared_ptr<QueryPool>& pool);
  bool may_begin_samples() const;
  // Which queries are active changes: later commands use other records.
  void begin_interval() {
    interval_begin_ = work_.bindings.size();
    ++interval_;
  }
  RecordBinding& add_binding(const std::shared_ptr<const Program>& program,
                             const SharedRecord& record);
  void record_resolve(VkDeviceAddress batch, const probe::QueryBatch& header,
                      VkDeviceAddress spans) const;
  void finish_without_rows(const FinishedQuery& finished) const;
  void finish_failed(const QueryPool& pool, uint32_t query, uint32_t views) const;

  QueryContext context_;
  QueryMemory memory_;
  QueryBatches batches_;
  WordPages word_pages_;

  ActiveQueries active_;
  InheritedQueries inherited_;
  FeedbackRecorder feedback_;
  SampleRecorder samples_;
  ArgumentRecorder arguments_;
  QueryTimes times_;
  ResultCopy copies_;
  PassSelection passes_;
  Condition condition_;

  CommandTotals totals_;
  QueryWork work_;
  size_t interval_begin_ = 0;  // first binding of the current interval
  uint32_t interval_ = 1;      // its number
  std::vector<std::shared_ptr<QueryPool>> kept_pools_;
  struct KnownPool {
    VkQueryPool handle = VK_NULL_HANDLE;
    std::shared_ptr<QueryPool> pool;  // null: the driver's
  };
  KnownPool known_pool_;
  bool conditioned_ = false;  // by the application, also inside of render passes
  bool in_pass_ = false;
  bool suspending_ = false;
  bool lacks_samples_ = false;
  bool repeatable_ = false;  // a secondary that may be pending several times
  RenderPassShape shape_;    // of the current pass
  uint32_t subpass_ = 0;
};

}  // namespace tally::counters
