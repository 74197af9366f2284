// A timeline semaphore by which a layer learns that work on a queue has completed. The last batch
// of a submission signals its next value: the layer needs no submission of its own. `Table` has the
// functions of the next layer.
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

// The batches of a submission, the last of which also signals a value. If there is none, or it has
// extensions that may concern its semaphores, a batch without command buffers follows and signals.
// `Submit` is VkSubmitInfo or VkSubmitInfo2. Does not move: its structs point to each other.
template <typename Submit>
class SignalledBatches {
 public:
  SignalledBatches(std::span<const Submit> batches, VkSemaphore semaphore, uint64_t value) {
    for (const Submit& batch : batches) batches_.push_back(batch);
    if (batches_.empty() || !can_extend(batches.back())) batches_.push_back(kEmpty);
    extend(*(batches_.end() - 1), semaphore, value);
  }
  SignalledBatches(const SignalledBatches&) = delete;
  SignalledBatches& operator=(const SignalledBatches&) = delete;

  uint32_t count() const { return static_cast<uint32_t>(batches_.size()); }
  const Submit* data() const { return batches_.data(); }

 private:
  static constexpr bool kExtended = std::is_same_v<Submit, VkSubmitInfo2>;
  static constexpr Submit kEmpty{.sType = kExtended ? VK_STRUCTURE_TYPE_SUBMIT_INFO_2
                                                    : VK_STRUCTURE_TYPE_SUBMIT_INFO};

  static bool can_extend(const VkSubmitInfo& batch) {
    const auto* chain = static_cast<const VkBaseInStructure*>(batch.pNext);
    return !chain ||
           (chain->sType == VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO && !chain->pNext);
  }
  static bool can_extend(const VkSubmitInfo2& batch) { return !batch.pNext; }

  void extend(VkSubmitInfo& batch, VkSemaphore semaphore, uint64_t value) {
    if (batch.pNext) values_info_ = *static_cast<const VkTimelineSemaphoreSubmitInfo*>(batch.pNext);
    const uint64_t* given = values_info_.pSignalSemaphoreValues;
    for (uint32_t i = 0; i < batch.signalSemaphoreCount; ++i) {
      semaphores_.push_back(batch.pSignalSemaphores[i]);
      // Binary semaphores need no values.
      values_.push_back(given && i < values_info_.signalSemaphoreValueCount ? given[i] : 0);
    }
    semaphores_.push_back(semaphore);
    values_.push_back(value);
    values_info_.signalSemaphoreValueCount = static_cast<uint32_t>(values_.size());
    values_info_.pSignalSemaphoreValues = values_.data();
    batch.pNext = &values_info_;
    batch.signalSemaphoreCount = static_cast<uint32_t>(semaphores_.size());
    batch.pSignalSemaphores = semaphores_.data();
  }
  void extend(VkSubmitInfo2& batch, VkSemaphore semaphore, uint64_t value) {
    for (uint32_t i = 0; i < batch.signalSemaphoreInfoCount; ++i) {
      semaphores_.push_back(batch.pSignalSemaphoreInfos[i]);
    }
    semaphores_.push_back({.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO,
                           .semaphore = semaphore,
                           .value = value,
                           .stageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT});
    batch.signalSemaphoreInfoCount = static_cast<uint32_t>(semaphores_.size());
    batch.pSignalSemaphoreInfos = semaphores_.data();
  }

  InlineVector<Submit, 4> batches_;
  // The signals of the last one, and with VkSubmitInfo their values.
  InlineVector<std::conditional_t<kExtended, VkSemaphoreSubmitInfo, VkSemaphore>, 4> semaphores_;
  InlineVector<uint64_t, 4> values_;
  VkTimelineSemaphoreSubmitInfo values_info_{.sType =
                                                 VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO};
};

}  // namespace tally::vk
