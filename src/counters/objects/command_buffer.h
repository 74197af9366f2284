// What the layer knows of a command buffer while it is recorded: the active instrumentation and the
// capturing render pass, what is bound, and the first error. Used by one thread at a time, as
// Vulkan demands of the application.
#pragma once

#include <vulkan/vulkan_core.h>

#include <array>
#include <memory>
#include <vector>

#include "counters/instrumentation/object.h"
#include "counters/instrumentation/shard_table.h"
#include "counters/objects/pipeline.h"
#include "counters/objects/slot_constants.h"
#include "counters/queries/driver_queries.h"
#include "counters/queries/recorder.h"
#include "counters/regions/recorder.h"
#include "vk/bind_point.h"

namespace tally::counters {

class Device;

class CommandBuffer {
 public:
  struct Kind {
    VkCommandBufferLevel level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
    bool is_protected = false;
  };

  CommandBuffer(VkCommandBuffer handle, Device& device, Kind kind);
  CommandBuffer(const CommandBuffer&) = delete;
  CommandBuffer& operator=(const CommandBuffer&) = delete;

  VkCommandBuffer handle() const { return handle_; }
  Device& device() const { return device_; }
  const DeviceTable& next() const { return next_; }

  // Recording begins anew, or everything recorded is dropped.
  void reset();
  // The first error since, for vkEndCommandBuffer.
  VkResult end();
  void fail(VkResult error);

  void begin_instrumentation(const std::shared_ptr<Instrumentation>& object);
  void end_instrumentation();
  bool active() const { return active_ != nullptr; }
  bool is_protected() const { return kind_.is_protected; }
  bool is_secondary() const { return kind_.level == VK_COMMAND_BUFFER_LEVEL_SECONDARY; }

  // --- counters by region; null where they are not enabled
  RegionRecorder* regions() const { return regions_.get(); }
  // A secondary command buffer that continues a render pass.
  void continue_pass();
  // Around the commands that begin and end a pass.
  void begin_capture(RegionRequest request);
  void end_capture();
  // Executed command buffers with capturing passes of their own.
  const std::vector<std::shared_ptr<CommandBuffer>>& capturing() const { return capturing_; }

  // --- emulated queries; null where there are none
  QueryRecorder* queries() const { return queries_.get(); }
  void begin_query(const std::shared_ptr<QueryPool>& pool, uint32_t query, uint32_t index);
  void end_query(const std::shared_ptr<QueryPool>& pool, uint32_t query, uint32_t index);
  void write_timestamp(const std::shared_ptr<QueryPool>& pool, uint32_t query);
  void inherit_queries(const VkCommandBufferInheritanceInfo& info);
  void reset_queries(const std::shared_ptr<QueryPool>& pool, uint32_t first, uint32_t count);
  // Those with counters of the driver; null where there can be none.
  DriverQueries* driver_queries() const { return driver_queries_.get(); }
  void end_query_pass();
  void copy_query_results(const QueryPool& pool, const QueryPool::Request& request, VkBuffer target,
                          VkDeviceSize offset);
  // What has ended is worked out, where commands for it are allowed.
  void flush_queries();
  // A query of the driver's that counts compute invocations has ended.
  void end_drivers_statistics();
  // VK_INTEL_performance_query's overrides: whether draws, dispatches and traces are left out from
  // here on; and a stop until all has completed and all caches are flushed.
  void drop_actions(bool drop);
  bool drops_actions() const { return (attention_ & kDropped) != 0; }
  void flush_caches();
  // Whether active queries want to know of commands.
  bool counts_commands() const { return (attention_ & kQueryCommands) != 0; }
  void count_command(CommandMetric metric) {
    if (counts_commands()) [[unlikely]]
      queries_->count(metric);
  }
  void note_draw(uint64_t vertices, uint64_t instances);
  void note_indexed_draw(uint32_t indices, uint32_t instances, uint32_t first);
  void note_dispatch(uint64_t workgroups);
  void note_mesh_draw(uint64_t workgroups);
  // Of commands whose arguments stand in a buffer.
  void note_indirect(CommandMetric metric, const IndirectCommand& command);
  void note_trace() { queries_->count(CommandMetric::Traces); }
  DynamicDrawFacts& dynamic_facts() { return dynamic_facts_; }
  void bind_indices(const IndexRange& indices) { indices_ = indices; }

  void bind_pipeline(VkPipelineBindPoint point, VkPipeline pipeline);
  // What is bound at the point is no pipeline of ours to swap (shader objects), or nothing.
  void forget_pipelines();
  void forget_pipeline(VkPipelineBindPoint point);
  // A shader object in place of a compute pipeline.
  void note_compute_shader(VkShaderEXT shader) { compute_shader_ = shader; }
  // What the layer has pushed may be gone.
  void forget_words() { pushed_word_ = 0; }
  // The application updates constants up to the byte `end`.
  void forget_words(VkPipelineLayout layout, uint32_t end);
  // An update of the application's constants: what is to be remembered of it, and the stages that
  // it must now name.
  VkShaderStageFlags note_constants(VkPipelineLayout layout, VkShaderStageFlags stages,
                                    uint32_t offset, uint32_t size, const void* values);
  // Before it begins. The counters at which it does, as the command has them.
  struct FeedbackCounters {
    uint32_t first = 0, count = 0;
    const VkBuffer* buffers = nullptr;
    const VkDeviceSize* offsets = nullptr;
  };
  void begin_transform_feedback(const FeedbackCounters& counters);
  void bind_feedback_buffers(uint32_t first, uint32_t count, const VkBuffer* buffers,
                             const VkDeviceSize* offsets, const VkDeviceSize* sizes);
  void end_transform_feedback();

  // Nothing is active: what is recorded is the driver's alone.
  bool idle() const { return attention_ == 0; }
  // Before every draw, dispatch or trace that is not idle.
  void prepare_action(VkPipelineBindPoint point, uint64_t work) noexcept {
    prepare(point, work, nullptr);
  }
  // The same before a direct draw of so many instances. Answers which shall be the first one: where
  // its shaders count may be in the high half.
  uint32_t prepare_draw(uint64_t vertices, uint32_t instances, uint32_t first_instance) noexcept;
  // Between that and the next action: records it, once or with either pipeline.
  template <typename Action>
  void record_variants(VkPipelineBindPoint point, const Action& action) {
    if ((attention_ & kQueries) == 0 || !runs_twice(point)) return action();
    Bound& bound = *bound_at(point);
    if (!begin_variant(true)) return action();
    action();
    queries_->end_variant();
    next().CmdBindPipeline(handle_, point, bound.handle);
    begin_variant(false);
    action();
    queries_->end_variant();
    next().CmdBindPipeline(handle_, point, bound.pipeline->variant(bound.variant));
  }
  // Around commands that may change the bound pipeline themselves: the plain one is bound for them.
  void before_generated_commands();
  void bind_plain_pipelines();
  void bind_wanted_pipelines();

  // Objects that commands recorded here, or in executed secondaries, write to.
  const std::vector<std::shared_ptr<Instrumentation>>& objects() const { return objects_; }
  void execute(const std::shared_ptr<CommandBuffer>& secondary);

 private:
  enum Attention : uint32_t {
    kActive = 1,           // every action takes an index, some write a record
    kStaleWord = 2,        // a counting pipeline is bound although nothing is active
    kLostConstants = 4,    // the slot's bytes hold our word where the application had its own
    kRegions = 8,          // graphics commands are counted by region
    kQueries = 16,         // queries are active that count in shaders
    kQueryCommands = 32,   // ... that count at all
    kDropped = 64,         // actions do nothing
    kStalePipelines = 128  // queries began or ended: the next action may need other pipelines
  };
  // Draws in a row whose records differ in nothing but their place.
  struct DrawRun {
    const Program* program = nullptr;  // null: there are none
    uint64_t bytes = 0;                // of each record
  };

  struct Bound {
    VkPipeline handle = VK_NULL_HANDLE;
    std::shared_ptr<Pipeline> pipeline;  // looked up only when needed
    Variant variant = Variant::Plain;    // which one of it is bound
    uint32_t actions = 0;                // recorded since it was bound
    DrawRun run;                         // ... the last of them, where draws are numbered
  };

  struct DrawInstances {
    uint32_t first = 0, count = 0;
    uint32_t number = 0;  // where its record stands, from what was pushed last
  };
  // Whether the instances leave the number its half of the index.
  static bool fits_number(const DrawInstances& draw) {
    return uint64_t{draw.first} + draw.count <= uint64_t{1} << probe::kPackedDrawIndexShift;
  }

  Bound* bound_at(VkPipelineBindPoint point) {
    const size_t index = vk::bind_point_index(point);
    return index < bound_.size() ? &bound_[index] : nullptr;
  }
  Pipeline* resolve(Bound& bound);
  Variant wanted_variant(VkPipelineBindPoint point, Bound& bound);
  void bind(VkPipelineBindPoint point, Bound& bound, Variant variant);
  void note_stale_words();
  void dispatched_ours();
  bool can_bind(VkPipelineBindPoint point) const;

  // `draw`: of a direct one.
  void prepare(VkPipelineBindPoint point, uint64_t work, DrawInstances* draw) noexcept;
  void record_action(VkPipelineBindPoint point, Bound& bound, uint64_t work, DrawInstances* draw);
  bool repeat_draw(Bound& bound, uint64_t vertices, DrawInstances& draw);
  bool may_number(const Program& program, const DrawInstances& draw) const;
  void note_words(const Bound& bound, uint64_t word);
  bool write_number(const Bound& bound, uint64_t word, DrawInstances& draw);
  bool find_number(uint64_t word, DrawInstances& draw) const;
  void count_for_queries(VkPipelineBindPoint point, Bound& bound, uint64_t work);
  void update_query_attention();
  void settle_queries(const QueryPool& pool);
  void work_out_queries();
  DrawFacts graphics_facts();
  IndexRange bound_indices() const;
  void count_on_gpu(const DrawFacts& facts, IndirectCommand command);
  bool runs_twice(VkPipelineBindPoint point);
  bool begin_variant(bool counting);
  void count_feedback(const FeedbackCounters& counters);
  void copy_feedback_counters(const FeedbackCounters& counters, const FeedbackStart& start);
  void run_uncounted(VkPipelineBindPoint point, Bound& bound);
  // The record's words; that of the region is added.
  bool write_words(VkPipelineBindPoint point, const Bound& bound, uint64_t main, uint64_t fragment);
  bool write_descriptor(VkPipelineBindPoint point, const PipelineLayout& layout, uint64_t record,
                        uint64_t region);
  VkResult next_words(WordPage& page, uint32_t& index);
  uint64_t region_word(const Bound& bound);
  bool reserve(uint64_t bytes, uint32_t shards_log2, VkDeviceSize& offset);
  static uint64_t guess_draw(const Bound& bound, uint64_t vertices);
  void restore_constants(Bound& bound);
  void note_object(const std::shared_ptr<Instrumentation>& object);

  VkCommandBuffer handle_;
  Device& device_;
  const DeviceTable& next_;
  Kind kind_;
  const ShardTable& shards_;
  VkResult error_ = VK_SUCCESS;
  uint32_t attention_ = 0;
  bool transform_feedback_ = false;
  std::array<VkDeviceSize, kFeedbackBuffers> feedback_sizes_{};
  std::array<Bound, vk::kBindPoints.size()> bound_;
  VkShaderEXT compute_shader_ = VK_NULL_HANDLE;

  std::shared_ptr<Instrumentation> active_;
  RecordRange* segment_ = nullptr;
  Instrumentation::OpenPage page_;
  Instrumentation::OpenWords words_;
  const Program* kept_program_ = nullptr;
  std::vector<std::shared_ptr<Instrumentation>> objects_;
  std::unique_ptr<RegionRecorder> regions_;
  std::vector<std::shared_ptr<CommandBuffer>> capturing_;
  std::unique_ptr<QueryRecorder> queries_;
  std::unique_ptr<DriverQueries> driver_queries_;
  // The address word that the graphics shaders see, and the layout it was pushed with; 0: not
  // known.
  uint64_t pushed_word_ = 0;
  const PipelineLayout* pushed_layout_ = nullptr;
  DynamicDrawFacts dynamic_facts_;
  IndexRange indices_;  // as they were bound

  SlotConstants constants_;
};

}  // namespace tally::counters
