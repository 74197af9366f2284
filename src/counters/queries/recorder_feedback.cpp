// Spans of commands under transform feedback.
#include <algorithm>

#include "counters/layer/device.h"
#include "counters/queries/recorder.h"

namespace tally::counters {

VkResult QueryRecorder::begin_feedback(const probe::QueryFeedback& description,
                                       FeedbackStart& start) {
  VkDeviceAddress address = 0;
  constexpr uint64_t kRoomBytes = probe::QueryFeedback::kStreams * sizeof(uint64_t);
  constexpr uint64_t kStartBytes = probe::QueryFeedback::kBuffers * sizeof(uint32_t);
  const VkResult result = reserve(kRoomBytes + kStartBytes, address);
  if (result != VK_SUCCESS) return result;
  const RecordPage& page = pages_.back();
  feedback_ = {description, 0};
  feedback_->span.flags = probe::QueryFeedback::kFirst;
  feedback_->span.room = address;
  feedback_->span.starts = address + kRoomBytes;
  start = {page.chunk->buffer(), page.offset + (feedback_->span.starts - page.address)};
  begin_interval();
  return open_span();
}

void QueryRecorder::end_feedback() {
  begin_interval();
  close_span();
  feedback_.reset();
}

VkResult QueryRecorder::open_span() {
  if (!feedback_) return VK_SUCCESS;
  probe::QueryFeedback& span = feedback_->span;
  const VkResult result = reserve(probe::QueryFeedback::kStreams * sizeof(uint64_t), span.needs);
  if (result != VK_SUCCESS) return result;
  feedback_->primitives = totals_[static_cast<size_t>(CommandMetric::LastPrimitives)];
  std::ranges::fill(span.rows, 0);
  for (const Active& one : active_) {
    if (one.pool->kind().type != VK_QUERY_TYPE_TRANSFORM_FEEDBACK_STREAM_EXT) continue;
    if (one.index >= probe::QueryFeedback::kStreams) continue;
    span.rows[one.index] = one.pool->slot(one.query) + probe::kQuerySlotHeader;
  }
  return VK_SUCCESS;
}

void QueryRecorder::close_span() {
  if (!feedback_ || feedback_->span.needs == 0) return;
  probe::QueryFeedback& span = feedback_->span;
  span.assembled =
      totals_[static_cast<size_t>(CommandMetric::LastPrimitives)] - feedback_->primitives;
  work_.spans.push_back(span);
  span.flags = 0;
  span.needs = 0;
}

void QueryRecorder::add_feedback_target(std::vector<QueryTarget>& targets) const {
  if (feedback_ && feedback_->span.needs != 0) {
    targets.push_back({.needs = feedback_->span.needs});
  }
}

}  // namespace tally::counters
