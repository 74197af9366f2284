#include "counters/recording/transform_feedback.h"

#include <algorithm>

namespace tally::counters {

void TransformFeedback::bind_buffers(uint32_t first, uint32_t count, const VkBuffer* buffers,
                                     const VkDeviceSize* offsets, const VkDeviceSize* sizes) {
  const QueryState* queries = state_.device.queries.get();
  if (!queries) return;
  for (uint32_t i = 0; i < count && first + i < kFeedbackBuffers; ++i) {
    VkDeviceSize& size = sizes_[first + i];
    size = sizes ? sizes[i] : VK_WHOLE_SIZE;
    if (size != VK_WHOLE_SIZE) continue;
    const VkDeviceSize whole = queries->buffer_sizes.find(buffers[i]);
    size = whole > offsets[i] ? whole - offsets[i] : 0;
  }
}

void TransformFeedback::bind_buffers(uint32_t first, uint32_t count,
                                     const VkBindTransformFeedbackBuffer2InfoEXT* infos) {
  for (uint32_t i = 0; i < count && first + i < kFeedbackBuffers; ++i) {
    sizes_[first + i] = infos[i].addressRange.size;
  }
}

// It is counted even if no query is active: one may begin before it ends.
void TransformFeedback::begin(const Counters& counters) {
  const QueryState* queries = state_.device.queries.get();
  if (queries && queries->counts_feedback.load(std::memory_order_relaxed)) count(counters);
  if (state_.status.has(RecordingStatus::kDirtyPipelines)) state_.bound.bind_wanted();
  state_.bound.begin_transform_feedback();
}

void TransformFeedback::count(const Counters& counters) {
  BoundState::Bound& bound = state_.bound.graphics();
  const Pipeline* pipeline = state_.bound.resolve(bound);
  probe::QueryFeedback description;
  Variant variant = bound.variant;
  if (pipeline && !counts_blocks(variant)) variant = pipeline->choose_for_queries();
  if (counts_blocks(variant)) {
    description = describe_feedback(*pipeline->programs[static_cast<size_t>(variant)],
                                    state_.bound.draw_facts(), sizes_);
  }
  FeedbackStart start;
  const VkResult result = state_.queries->begin_feedback(description, start);
  if (result != VK_SUCCESS) {
    state_.status.note(result);
    return;
  }
  queries_.update_flags();
  if (counters.buffers) copy_counters(counters, start);
  if (counters.infos) copy_addressed_counters(counters, start);
}

// Inside a render pass the layer cannot copy buffers. Instead it begins and ends transform feedback
// at once: the driver then stores its counters in memory of the layer.
void TransformFeedback::copy_counters(const Counters& counters, const FeedbackStart& start) const {
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
  state_.next.CmdBeginTransformFeedbackEXT(state_.handle, counters.first, counters.count,
                                           counters.buffers, counters.offsets);
  state_.next.CmdEndTransformFeedbackEXT(state_.handle, counters.first, count, targets.data(),
                                         offsets.data());
}

void TransformFeedback::copy_addressed_counters(const Counters& counters,
                                                const FeedbackStart& start) const {
  std::array<VkBindTransformFeedbackBuffer2InfoEXT, kFeedbackBuffers> targets{};
  const uint32_t count = std::min(counters.count, kFeedbackBuffers);
  bool any = false;
  for (uint32_t i = 0; i < count; ++i) {
    targets[i].sType = VK_STRUCTURE_TYPE_BIND_TRANSFORM_FEEDBACK_BUFFER_2_INFO_EXT;
    if (counters.infos[i].addressRange.address == 0) continue;
    targets[i].addressRange = {start.address + (counters.first + i) * sizeof(uint32_t),
                               sizeof(uint32_t)};
    targets[i].addressFlags = kLayerAddressFlags;
    any = true;
  }
  if (!any) return;
  state_.next.CmdBeginTransformFeedback2EXT(state_.handle, counters.first, counters.count,
                                            counters.infos);
  state_.next.CmdEndTransformFeedback2EXT(state_.handle, counters.first, count, targets.data());
}

void TransformFeedback::end() {
  state_.bound.end_transform_feedback();
  if (state_.queries) {
    state_.queries->end_feedback();
    queries_.update_flags();
  }
  state_.bound.bind_wanted();
}

}  // namespace tally::counters
