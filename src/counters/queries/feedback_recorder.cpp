#include "counters/queries/feedback_recorder.h"

#include <algorithm>

namespace tally::counters {

VkResult FeedbackRecorder::begin(const probe::QueryFeedback& description, FeedbackStart& start) {
  constexpr uint64_t kCapacityBytes = probe::QueryFeedback::kStreams * sizeof(uint64_t);
  constexpr uint64_t kStartBytes = probe::QueryFeedback::kBuffers * sizeof(uint32_t);
  QuerySpace space;
  const VkResult result = memory_.reserve(kCapacityBytes + kStartBytes, space);
  if (result != VK_SUCCESS) return result;
  active_ = {description, 0};
  active_->span.flags = probe::QueryFeedback::kFirst;
  active_->span.capacity = space.address;
  active_->span.starts = space.address + kCapacityBytes;
  start = {space.buffer, space.offset + kCapacityBytes, space.address + kCapacityBytes};
  return VK_SUCCESS;
}

VkResult FeedbackRecorder::open_span(const ActiveQueries& queries, const CommandTotals& totals) {
  if (!active_) return VK_SUCCESS;
  probe::QueryFeedback& span = active_->span;
  QuerySpace space;
  const VkResult result = memory_.reserve(probe::QueryFeedback::kStreams * sizeof(uint64_t), space);
  if (result != VK_SUCCESS) return result;
  span.needs = space.address;
  active_->primitives = totals.of(CommandMetric::LastPrimitives);
  std::ranges::fill(span.rows, 0);
  queries.write_feedback_rows(span);
  return VK_SUCCESS;
}

void FeedbackRecorder::close_span(const CommandTotals& totals, QueryWork& work) {
  if (!active_ || active_->span.needs == 0) return;
  probe::QueryFeedback& span = active_->span;
  span.assembled = totals.of(CommandMetric::LastPrimitives) - active_->primitives;
  work.spans.push_back(span);
  span.flags = 0;
  span.needs = 0;
}

void FeedbackRecorder::add_target(QueryTargets& targets) const {
  if (active_ && active_->span.needs != 0) targets.push_back({.needs = active_->span.needs});
}

}  // namespace tally::counters
