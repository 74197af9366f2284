// A command buffer while it is recorded. Composes the state of the command
// buffer and the classes that record its commands. Used by one thread at a time: command buffers
// are externally synchronized.
#pragma once

#include <vulkan/vulkan_core.h>

#include <array>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "counters/features/queries/indirect_counts.h"
#include "counters/features/queries/state.h"
#include "counters/recording/action_recorder.h"
#include "counters/shaders/program.h"

namespace tally::counters {

// The part of active queries that the host counts, from the arguments of action commands.

class CommandCounts {
 public:
  explicit CommandCounts(CommandState& state) : state_(state) {}

  // True if active queries count commands. Call the functions below only if so.
  bool wanted() const { return state_.status.has(RecordingStatus::kQueryCommands); }
  void draw(uint64_t vertices, uint64_t instances);
  void indexed_draw(uint32_t indices, uint32_t instances, uint32_t first);
  void dispatch(uint64_t workgroups);
  void mesh_draw(uint64_t workgroups);
  void trace() { state_.queries->count(CommandMetric::Traces); }
  // Commands that the device generates, whose arguments the layer does not read.
  void generated(VkPipelineBindPoint point);
  // A command whose arguments are in a buffer.
  void indirect(CommandMetric metric, const IndirectCommand& command);

 private:
  IndexRange bound_indices() const;
  void count_on_gpu(const DrawFacts& facts, IndirectCommand command);

  CommandState& state_;
};

inline void CommandCounts::draw(uint64_t vertices, uint64_t instances) {
  QueryRecorder& queries = *state_.queries;
  queries.count(CommandMetric::Draws);
  if (!state_.bound.resolve(state_.bound.graphics())) return;
  const DrawFacts& facts = state_.bound.draw_facts();
  const uint64_t primitives = primitives_of(facts, vertices) * instances;
  queries.count(CommandMetric::Vertices, vertices * instances);
  queries.count(CommandMetric::Primitives, primitives);
  if ((facts.stages & VK_SHADER_STAGE_TESSELLATION_CONTROL_BIT) != 0) {
    queries.count(CommandMetric::Patches, primitives);
  }
  if (!keeps_primitives(facts)) return;
  queries.count(CommandMetric::LastPrimitives, primitives);
  if (!facts.rasterizer_discard) queries.count(CommandMetric::ClippedPrimitives, primitives);
}

// The commands of the application on emulated queries: tells the query recorders, keeps the flags
// of the command buffer, and restores what dispatches of the layer change.

// Call only where the command buffer has a QueryRecorder, but for resolve_ready().
class QueryCommands {
 public:
  explicit QueryCommands(CommandState& state) : state_(state) {}

  void begin(const QueryKey& key);
  void end(const QueryKey& key);
  void reset(const std::shared_ptr<QueryPool>& pool, uint32_t first, uint32_t count);
  void write_timestamp(const std::shared_ptr<QueryPool>& pool, uint32_t query);
  void copy_results(const QueryPool& pool, const QueryPool::Request& request,
                    const NamedMemory& target);
  void inherit(const VkCommandBufferBeginInfo& info);
  void end_pass();
  // A query of the driver that counts compute invocations has ended.
  void end_driver_statistics();
  // Resolves pending work where that is allowed.
  void resolve_ready();
  // The set of active queries has changed.
  void update_flags();

  // --- overrides of VK_INTEL_performance_query
  void drop_actions(bool drop) { state_.status.assign(RecordingStatus::kDropActions, drop); }
  // Waits for all commands, then flushes and invalidates all caches.
  void flush_caches();

 private:
  void resolve_for(const QueryPool& pool);
  void resolve();

  CommandState& state_;
};

// Transform feedback in a command buffer: pipelines may not be bound while it is active, and
// emulated queries count it.

class TransformFeedback {
 public:
  // The counter buffers of vkCmdBeginTransformFeedbackEXT, or `infos` of
  // vkCmdBeginTransformFeedback2EXT.
  struct Counters {
    uint32_t first = 0, count = 0;
    const VkBuffer* buffers = nullptr;
    const VkDeviceSize* offsets = nullptr;
    const VkBindTransformFeedbackBuffer2InfoEXT* infos = nullptr;
  };

  TransformFeedback(CommandState& state, QueryCommands& queries)
      : state_(state), queries_(queries) {}

  void reset() { sizes_ = {}; }
  void bind_buffers(uint32_t first, uint32_t count, const VkBuffer* buffers,
                    const VkDeviceSize* offsets, const VkDeviceSize* sizes);
  void bind_buffers(uint32_t first, uint32_t count,
                    const VkBindTransformFeedbackBuffer2InfoEXT* infos);
  // Before transform feedback begins, and after it has ended.
  void begin(const Counters& counters);
  void end();

 private:
  void count(const Counters& counters);
  void copy_counters(const Counters& counters, const FeedbackStart& start) const;
  void copy_addressed_counters(const Counters& counters, const FeedbackStart& start) const;

  CommandState& state_;
  QueryCommands& queries_;
  std::array<VkDeviceSize, kFeedbackBuffers> sizes_{};  // of the bound buffers
};

class CommandBuffer {
 public:
  struct Kind {
    VkCommandBufferLevel level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
    bool is_protected = false;
    bool computes = false;  // its queue family has compute operations
  };

  CommandBuffer(VkCommandBuffer handle, DeviceState& device, Kind kind);
  CommandBuffer(const CommandBuffer&) = delete;
  CommandBuffer& operator=(const CommandBuffer&) = delete;

  VkCommandBuffer handle() const { return state_.handle; }
  DeviceState& device() const { return state_.device; }
  const DeviceTable& next() const { return state_.next; }
  bool is_protected() const { return kind_.is_protected; }
  bool is_secondary() const { return kind_.level == VK_COMMAND_BUFFER_LEVEL_SECONDARY; }

  // No feature is active: the driver alone records the next command.
  bool idle() const { return state_.status.flags == 0; }
  bool drops_actions() const {
    return state_.status.has(RecordingStatus::kDropActions | RecordingStatus::kLostPipeline);
  }
  bool lost_pipeline() const { return state_.status.has(RecordingStatus::kLostPipeline); }
  void count_command(CommandMetric metric) {
    if (counts_.wanted()) [[unlikely]]
      state_.queries->count(metric);
  }

  // --- what is bound, and the recorders of the features; null where a feature is not enabled
  BoundState& bound() { return state_.bound; }
  ActionRecorder& actions() { return actions_; }
  CommandCounts& counts() { return counts_; }
  QueryCommands& query_commands() { return query_commands_; }
  TransformFeedback& transform_feedback() { return transform_feedback_; }
  RegionRecorder* regions() const { return state_.regions.get(); }
  QueryRecorder* queries() const { return state_.queries.get(); }
  DriverQueries* driver_queries() const { return state_.driver_queries.get(); }

  // --- the recording. reset() discards everything that was recorded.
  void reset();
  void begin(VkCommandBufferUsageFlags usage);
  // Reports the layer's first failure. The application's commands are recorded nonetheless.
  void end();
  void fail(VkResult error) { state_.status.note(error); }
  void execute(const std::shared_ptr<CommandBuffer>& secondary);
  // Lives as long as the recording.
  void keep(std::shared_ptr<const void> object) { kept_.push_back(std::move(object)); }

  // --- shader instrumentation
  void begin_instrumentation(const std::shared_ptr<Instrumentation>& object);
  void end_instrumentation();
  bool instrumented() const { return state_.instrumentation.active(); }
  const std::vector<std::shared_ptr<Instrumentation>>& objects() const {
    return state_.instrumentation.objects();
  }

  // --- render passes
  // Before the command that begins a pass which is counted by region.
  void begin_capture(RegionRequest request);
  // Before a part of a suspended pass: between the parts there can be no commands of the layer.
  void leave_draws_to_shaders();
  // Conditional rendering of the application.
  template <typename BeginInfo>
  void begin_condition(const BeginInfo& info) {
    if (state_.queries) state_.queries->begin_condition(info);
    if (state_.invocations) condition_.begin(info);
  }
  void end_condition() {
    if (state_.queries) state_.queries->end_condition();
    condition_.end();
  }
  // After the command that begins a pass.
  void begin_pass(const RenderPassShape& shape, VkExtent2D area, bool suspending);
  // Before a command that ends a subpass or executes secondary command buffers.
  void leave_subpass() {
    if (state_.queries) state_.queries->end_samples();
  }
  void next_subpass();
  // After the command that ends it.
  void end_pass();
  // This is a secondary command buffer that continues a render pass.
  void continue_pass();
  // Executed command buffers that have passes counted by region.
  const std::vector<std::shared_ptr<CommandBuffer>>& capturing() const { return capturing_; }

 private:
  bool driver_may_count() const;
  void finish_draws();
  void gather_records();

  CommandState state_;
  Kind kind_;
  bool begun_ = false;  // since the last reset
  bool simultaneous_ = false;
  bool repeats_ = false;    // it may be executed several times
  bool suspended_ = false;  // its last pass goes on in another command buffer
  Condition condition_;     // where the driver counts draws: also begun in a pass, where it ends
  ActionRecorder actions_;
  CommandCounts counts_;
  QueryCommands query_commands_;
  TransformFeedback transform_feedback_;
  std::vector<std::shared_ptr<CommandBuffer>> capturing_;
  std::vector<std::shared_ptr<const void>> kept_;
};

}  // namespace tally::counters
