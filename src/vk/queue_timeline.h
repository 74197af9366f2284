// A timeline semaphore by which a layer learns that work on a queue has completed. A batch without
// command buffers signals its next value, behind the application's batches and in the same call:
// the layer needs no submission of its own. `Table` has the functions of the next layer.
#pragma once

#include <vulkan/vulkan_core.h>

#include <mutex>
#include <span>
#include <type_traits>

#include "base/containers.h"
#include "vk/own_call.h"

namespace tally::vk {

template <typename Table>
class QueueTimeline {
 public:
  QueueTimeline(VkDevice device, const Table& next) : device_(device), next_(next) {
    const VkSemaphoreTypeCreateInfo type{.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                         .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE};
    const VkSemaphoreCreateInfo info{.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO,
                                     .pNext = &type};
    own("vkCreateSemaphore", next_.CreateSemaphore(device_, &info, nullptr, &semaphore_),
        semaphore_);
  }
  ~QueueTimeline() {
    if (exists()) next_.DestroySemaphore(device_, semaphore_, nullptr);
  }
  QueueTimeline(const QueueTimeline&) = delete;
  QueueTimeline& operator=(const QueueTimeline&) = delete;

  // True if the driver has created the semaphore.
  bool exists() const { return semaphore_ != VK_NULL_HANDLE; }

  // Calls `submit(semaphore, value)`, which submits what signals the value and returns the
  // VkResult. Returns the value, or 0 after a failure. One thread at a time: the values of a queue
  // ascend.
  template <typename Submit>
  uint64_t signal(const Submit& submit) {
    const std::lock_guard lock(mutex_);
    const uint64_t value = submitted_ + 1;
    if (submit(semaphore_, value) != VK_SUCCESS) return 0;
    submitted_ = value;
    return value;
  }
  // Returns VK_TIMEOUT if the value is not reached within `timeout` nanoseconds. Errors are those
  // of wait_for_own_value.
  VkResult wait(uint64_t value, uint64_t timeout) const {
    return wait_for_own_value(next_, device_, semaphore_, value, timeout);
  }

 private:
  const VkDevice device_;
  const Table& next_;
  VkSemaphore semaphore_ = VK_NULL_HANDLE;
  std::mutex mutex_;
  uint64_t submitted_ = 0;  // guarded by mutex_
};

// The batches of a submission, and one behind them that signals a value. `Submit` is VkSubmitInfo
// or VkSubmitInfo2. Does not move: its structs point to each other.
template <typename Submit>
class SignalledBatches {
 public:
  SignalledBatches(std::span<const Submit> batches, VkSemaphore semaphore, uint64_t value)
      : semaphore_(semaphore), value_(value) {
    for (const Submit& batch : batches) batches_.push_back(batch);
    if constexpr (std::is_same_v<Submit, VkSubmitInfo2>) {
      info_ = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO,
               .semaphore = semaphore_,
               .value = value_,
               .stageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT};
      batches_.push_back({.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2,
                          .signalSemaphoreInfoCount = 1,
                          .pSignalSemaphoreInfos = &info_});
    } else {
      info_ = {.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
               .signalSemaphoreValueCount = 1,
               .pSignalSemaphoreValues = &value_};
      batches_.push_back({.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                          .pNext = &info_,
                          .signalSemaphoreCount = 1,
                          .pSignalSemaphores = &semaphore_});
    }
  }
  SignalledBatches(const SignalledBatches&) = delete;
  SignalledBatches& operator=(const SignalledBatches&) = delete;

  uint32_t count() const { return static_cast<uint32_t>(batches_.size()); }
  const Submit* data() const { return batches_.data(); }

 private:
  const VkSemaphore semaphore_;
  const uint64_t value_;
  std::conditional_t<std::is_same_v<Submit, VkSubmitInfo2>, VkSemaphoreSubmitInfo,
                     VkTimelineSemaphoreSubmitInfo>
      info_{};
  InlineVector<Submit, 4> batches_;
};

}  // namespace tally::vk
