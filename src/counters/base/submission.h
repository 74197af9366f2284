// Tracks when submitted work completes: whether an instrumentation object is still in use (VUID
// 12374), so that memory is not freed while shaders write to it.
#pragma once

#include <vulkan/vulkan_core.h>

#include <memory>
#include <mutex>
#include <utility>

#include "counters/base/device_table.h"
#include "vk/handles.h"
#include "vk/queue_timeline.h"

namespace tally::counters {

using QueueTimeline = vk::QueueTimeline<DeviceTable>;

// The timelines of a device's queues, created at first use. Thread-safe.
class QueueTimelines {
 public:
  QueueTimelines(VkDevice device, const DeviceTable& next) : device_(device), next_(next) {}

  // Null if the driver cannot create a semaphore.
  std::shared_ptr<QueueTimeline> of(VkQueue queue) {
    if (auto known = timelines_.find(queue)) return known;
    const std::lock_guard lock(mutex_);
    if (auto known = timelines_.find(queue)) return known;
    auto timeline = std::make_shared<QueueTimeline>(device_, next_);
    if (!timeline->exists()) return nullptr;
    timelines_.insert(queue, timeline);
    return timeline;
  }

 private:
  VkDevice device_;
  const DeviceTable& next_;
  std::mutex mutex_;  // held while a semaphore is created
  vk::HandleMap<VkQueue, std::shared_ptr<QueueTimeline>> timelines_;
};

// Work that has been submitted. A lost device has completed everything.
class Submission {
 public:
  // `announced`: the work also signals semaphores or a fence, which may tell the application of the
  // completion shortly before the timeline does.
  Submission(std::shared_ptr<const QueueTimeline> timeline, uint64_t value, bool announced)
      : timeline_(std::move(timeline)), value_(value), announced_(announced) {}

  bool done() const { return wait(0); }
  // Waits for at most `timeout` nanoseconds. Returns whether it is done.
  bool wait(uint64_t timeout) const { return timeline_->wait(value_, timeout) != VK_TIMEOUT; }
  // Waits a short time if the work is announced.
  bool done_soon() const {
    constexpr uint64_t kShortWait = 100'000'000;
    return wait(announced_ ? kShortWait : 0);
  }

 private:
  const std::shared_ptr<const QueueTimeline> timeline_;
  const uint64_t value_;
  const bool announced_;
};

}  // namespace tally::counters
