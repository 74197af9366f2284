// Transform feedback in a command buffer: pipelines may not be bound while it is active, and
// emulated queries follow it.
#include <algorithm>

#include "counters/layer/device.h"
#include "counters/objects/command_buffer.h"

namespace tally::counters {

void CommandBuffer::bind_feedback_buffers(uint32_t first, uint32_t count, const VkBuffer* buffers,
                                          const VkDeviceSize* offsets, const VkDeviceSize* sizes) {
  QueryState* queries = device_.queries();
  if (!queries) return;
  for (uint32_t i = 0; i < count && first + i < kFeedbackBuffers; ++i) {
    VkDeviceSize& size = feedback_sizes_[first + i];
    size = sizes ? sizes[i] : VK_WHOLE_SIZE;
    if (size != VK_WHOLE_SIZE) continue;
    const VkDeviceSize whole = queries->buffer_sizes.find(buffers[i]);
    size = whole > offsets[i] ? whole - offsets[i] : 0;
  }
}

void CommandBuffer::begin_transform_feedback(const FeedbackCounters& counters) {
  // A query may begin while it is active.
  if (queries_ && device_.queries()->counts_feedback.load(std::memory_order_relaxed)) {
    count_feedback(counters);
  }
  if ((attention_ & kStalePipelines) != 0) bind_wanted_pipelines();
  transform_feedback_ = true;
}

void CommandBuffer::count_feedback(const FeedbackCounters& counters) {
  const Pipeline* pipeline = resolve(*bound_at(VK_PIPELINE_BIND_POINT_GRAPHICS));
  probe::QueryFeedback description;
  if (pipeline && pipeline->has(Variant::Blocks)) {
    description =
        describe_feedback(*pipeline->programs[static_cast<size_t>(Variant::Blocks)],
                          dynamic_facts_.applied_to(pipeline->facts.facts), feedback_sizes_);
  }
  FeedbackStart start;
  const VkResult result = queries_->begin_feedback(description, start);
  if (result != VK_SUCCESS) {
    fail(result);
    return;
  }
  update_query_attention();
  if (counters.buffers) copy_feedback_counters(counters, start);
}

// In a render pass nothing can be copied; but the driver writes where it begins if it is ended at
// once.
void CommandBuffer::copy_feedback_counters(const FeedbackCounters& counters,
                                           const FeedbackStart& start) {
  std::array<VkBuffer, kFeedbackBuffers> targets{};
  std::array<VkDeviceSize, kFeedbackBuffers> offsets{};
  const uint32_t count = std::min(counters.count, kFeedbackBuffers);
  for (uint32_t i = 0; i < count; ++i) {
    if (counters.buffers[i] == VK_NULL_HANDLE) continue;
    targets[i] = start.buffer;
    offsets[i] = start.offset + (counters.first + i) * sizeof(uint32_t);
  }
  if (std::ranges::all_of(targets, [](VkBuffer target) { return target == VK_NULL_HANDLE; })) {
    return;
  }
  next().CmdBeginTransformFeedbackEXT(handle_, counters.first, counters.count, counters.buffers,
                                      counters.offsets);
  next().CmdEndTransformFeedbackEXT(handle_, counters.first, count, targets.data(), offsets.data());
}

void CommandBuffer::end_transform_feedback() {
  transform_feedback_ = false;
  if (queries_) {
    queries_->end_feedback();
    update_query_attention();
  }
  bind_wanted_pipelines();
}

}  // namespace tally::counters
