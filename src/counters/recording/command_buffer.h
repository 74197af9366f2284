// A command buffer while it is recorded. Composes the state of the command
// buffer and the classes that record its commands. Used by one thread at a time: command buffers
// are externally synchronized.
#pragma once

#include <vulkan/vulkan_core.h>

#include <memory>
#include <utility>
#include <vector>

#include "counters/memory/chunk.h"
#include "counters/recording/action_recorder.h"
#include "counters/recording/command_counts.h"
#include "counters/recording/command_state.h"
#include "counters/recording/query_commands.h"
#include "counters/recording/transform_feedback.h"

namespace tally::counters {

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
  // Emulated queries count commands or in their shaders.
  bool counts_queries() const {
    return state_.status.has(RecordingStatus::kQueryShaders | RecordingStatus::kQueryCommands);
  }
  bool drops_actions() const { return state_.status.has(RecordingStatus::kDropActions); }
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
  // After the command that begins a pass.
  void begin_pass(const RenderPassShape& shape, bool suspending);
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
  void gather_records();

  CommandState state_;
  Kind kind_;
  bool simultaneous_ = false;
  bool suspended_ = false;  // its last pass goes on in another command buffer
  ActionRecorder actions_;
  CommandCounts counts_;
  QueryCommands query_commands_;
  TransformFeedback transform_feedback_;
  std::vector<std::shared_ptr<CommandBuffer>> capturing_;
  std::vector<std::shared_ptr<const void>> kept_;
};

}  // namespace tally::counters
