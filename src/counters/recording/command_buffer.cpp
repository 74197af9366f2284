#include "counters/recording/command_buffer.h"

#include <fmt/format.h>

#include "base/log.h"

namespace tally::counters {

CommandBuffer::CommandBuffer(VkCommandBuffer handle, DeviceState& device, Kind kind)
    : state_(handle, device),
      kind_(kind),
      actions_(state_),
      counts_(state_),
      query_commands_(state_),
      transform_feedback_(state_, query_commands_) {}

void CommandBuffer::reset() {
  state_.reset();
  transform_feedback_.reset();
  capturing_.clear();
  kept_.clear();
}

void CommandBuffer::begin(VkCommandBufferUsageFlags usage) {
  reset();
  simultaneous_ = (usage & VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT) != 0;
  suspended_ = false;
}

// Between the parts of a suspended pass there can be no dispatch.
void CommandBuffer::gather_records() {
  RecordGather* gather = state_.device.instrumentation.gather.get();
  if (!gather || is_secondary() || simultaneous_ || suspended_ || !kind_.computes) return;
  const std::vector<RecordedRange> ranges = state_.instrumentation.gatherable();
  if (ranges.empty()) return;
  const VkResult result = gather->record({handle(), state_.bound.uses_heaps()}, ranges);
  if (result == VK_SUCCESS) return;
  log_once(LogLevel::Warning, "records are read where they are, which is slow: {}",
           vk::take_own_failure(result).text());
}

void CommandBuffer::end() {
  leave_subpass();
  if (instrumented()) end_instrumentation();
  query_commands_.resolve_ready();
  if (state_.driver_queries && !is_secondary()) {
    state_.status.note(state_.driver_queries->record_others(*state_.queries));
  }
  gather_records();
  if (state_.status.error == VK_SUCCESS) return;
  state_.device.context.messages.notice(
      "TALLY-uncounted-commands", VK_OBJECT_TYPE_COMMAND_BUFFER, vk::handle_bits(handle()),
      fmt::format(
          "commands of a command buffer run uninstrumented, and its queries and counters by "
          "region are incomplete: {}",
          state_.status.failure.text()));
}

void CommandBuffer::execute(const std::shared_ptr<CommandBuffer>& secondary) {
  const CommandState& executed = secondary->state_;
  state_.instrumentation.execute(executed.instrumentation);
  if (state_.queries) {
    state_.queries->execute(*executed.queries);
    if (state_.driver_queries) state_.driver_queries->execute(*executed.driver_queries);
    query_commands_.resolve_ready();
  }
  if (!state_.regions) return;
  state_.status.note(state_.regions->link(*executed.regions));
  if (executed.regions->captures()) capturing_.push_back(secondary);
}

void CommandBuffer::begin_instrumentation(const std::shared_ptr<Instrumentation>& object) {
  state_.instrumentation.begin(object);
  state_.bound.end_runs();
  state_.status.set(RecordingStatus::kInstrumented);
  state_.bound.bind_wanted();
}

void CommandBuffer::end_instrumentation() {
  state_.instrumentation.end();
  state_.status.clear(RecordingStatus::kInstrumented);
  state_.status.set(RecordingStatus::kDirtyPipelines);
}

void CommandBuffer::begin_capture(RegionRequest request) {
  state_.status.assign(RecordingStatus::kOnlyInvocations, request.counts_only_invocations());
  const VkResult result = state_.regions->begin_pass(std::move(request));
  if (result != VK_SUCCESS) {
    state_.device.context.messages.notice("TALLY-uncounted-pass", VK_OBJECT_TYPE_COMMAND_BUFFER,
                                          vk::handle_bits(handle()),
                                          fmt::format("a render pass is not counted by region: {}",
                                                      vk::take_own_failure(result).text()));
    return;
  }
  state_.status.set(RecordingStatus::kRegions);
  state_.bound.restore_after_dispatch();
  state_.bound.bind_wanted();
}

void CommandBuffer::begin_pass(const RenderPassShape& shape, bool suspending) {
  suspended_ = suspending;
  if (state_.queries) state_.queries->begin_pass(shape, suspending);
}

void CommandBuffer::next_subpass() {
  if (state_.regions) state_.regions->next_subpass();
  if (state_.queries) state_.queries->next_subpass();
}

void CommandBuffer::end_pass() {
  if (state_.regions && state_.regions->in_pass()) {
    state_.regions->end_pass();
    state_.status.clear(RecordingStatus::kRegions);
    state_.status.set(RecordingStatus::kDirtyPipelines);
    state_.bound.restore_after_dispatch();
  }
  if (state_.queries) query_commands_.end_pass();
}

void CommandBuffer::continue_pass() {
  if (state_.queries) state_.queries->continue_pass();
  if (!state_.regions) return;
  const VkResult result = state_.regions->begin_continuing();
  if (result != VK_SUCCESS) {
    fail(result);
    return;
  }
  state_.status.set(RecordingStatus::kRegions);
}

}  // namespace tally::counters
