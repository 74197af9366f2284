#include "counters/objects/submission.h"

#include "vk/own_call.h"

namespace tally::counters {
namespace {

constexpr uint64_t kShortWait = 100'000'000;  // ns

}  // namespace

FencePool::~FencePool() {
  for (const VkFence fence : idle_) next_.DestroyFence(device_, fence, nullptr);
}

VkFence FencePool::take() {
  const std::lock_guard lock(mutex_);
  VkFence fence = VK_NULL_HANDLE;
  if (!idle_.empty()) {
    fence = idle_.back();
    idle_.pop_back();
    return fence;
  }
  const VkFenceCreateInfo info{.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
  vk::own("vkCreateFence", next_.CreateFence(device_, &info, nullptr, &fence), fence);
  return fence;
}

void FencePool::give_back(VkFence fence) {
  if (next_.ResetFences(device_, 1, &fence) != VK_SUCCESS) {
    next_.DestroyFence(device_, fence, nullptr);
    return;
  }
  const std::lock_guard lock(mutex_);
  idle_.push_back(fence);
}

bool Submission::finished(uint64_t timeout) {
  const std::lock_guard lock(mutex_);
  if (fence_ == VK_NULL_HANDLE) return true;
  // Every result but a timeout is final, VK_ERROR_DEVICE_LOST included.
  if (vk::wait_for_own_fence(pool_.next_, pool_.device_, fence_, timeout) == VK_TIMEOUT)
    return false;
  pool_.give_back(fence_);
  fence_ = VK_NULL_HANDLE;
  return true;
}

bool Submission::done() { return finished(0); }

bool Submission::done_soon() { return finished(semaphores_ ? kShortWait : 0); }

void Submission::abandon() {
  const std::lock_guard lock(mutex_);
  pool_.give_back(fence_);
  fence_ = VK_NULL_HANDLE;
}

Submission::~Submission() {
  // The fence is pending only if the device is being destroyed, and is idle then.
  if (fence_ != VK_NULL_HANDLE) pool_.next_.DestroyFence(pool_.device_, fence_, nullptr);
}

}  // namespace tally::counters
