#include "capture/harvester.h"

#include <fmt/format.h>
#include <pthread.h>

#include <utility>

#include "store/clock.h"
#include "store/quiet_thread.h"

namespace tally::capture {
namespace {

constexpr auto kWaitSlice = std::chrono::milliseconds(50);

}  // namespace

VkFence FencePool::borrow() {
  {
    const std::lock_guard lock(mutex_);
    if (!free_.empty()) {
      const VkFence fence = free_.back();
      free_.pop_back();
      return fence;
    }
  }
  const VkFenceCreateInfo info{VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
  VkFence fence = VK_NULL_HANDLE;
  if (table_.CreateFence(device_, &info, nullptr, &fence) != VK_SUCCESS) return VK_NULL_HANDLE;
  return fence;
}

void FencePool::give_back(VkFence fence) {
  table_.ResetFences(device_, 1, &fence);
  const std::lock_guard lock(mutex_);
  free_.push_back(fence);
}

void FencePool::destroy_all() {
  const std::lock_guard lock(mutex_);
  for (const VkFence fence : free_) table_.DestroyFence(device_, fence, nullptr);
  free_.clear();
}

VkResult FencePool::wait(VkFence fence, std::chrono::nanoseconds patience) const {
  return table_.WaitForFences(device_, 1, &fence, VK_TRUE, static_cast<uint64_t>(patience.count()));
}

void Harvester::add(HarvestItem item) {
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return;
    items_.push_back(std::move(item));
    ++added_count_;
    if (!thread_.joinable()) {
      thread_ = store::quiet_thread("tally-harvest", [this] { run(); });
    }
  }
  added_.notify_one();
}

bool Harvester::wait_for(const Matches& matches, std::chrono::milliseconds patience) {
  std::unique_lock lock(mutex_);
  uint64_t target = 0;
  for (size_t i = 0; i < items_.size(); ++i) {
    if (matches(items_[i])) target = reported_count_ + i + 1;
  }
  return reported_.wait_for(lock, patience, [&] { return reported_count_ >= target || stopping_; });
}

void Harvester::stop(std::chrono::milliseconds patience) {
  if (patience != std::chrono::milliseconds::max()) {
    give_up_ns_ = store::monotonic_ns() + std::chrono::nanoseconds(patience).count();
  }
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  added_.notify_all();
  if (thread_.joinable()) thread_.join();
  reported_.notify_all();
}

bool Harvester::given_up() const { return store::monotonic_ns() > give_up_ns_; }

void Harvester::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    added_.wait(lock, [this] { return stopping_ || !items_.empty(); });
    if (items_.empty()) return;
    HarvestItem& item = items_.front();  // stays where it is until we remove it
    lock.unlock();
    finish(item);
    lock.lock();
    std::unique_ptr<Submission> done = std::move(item.submission);  // others look at it
    lock.unlock();
    done.reset();  // its recordings may be the last references
    lock.lock();
    items_.pop_front();
    ++reported_count_;
    reported_.notify_all();
  }
}

void Harvester::finish(HarvestItem& item) {
  VkResult result = VK_SUCCESS;
  if (item.fence != VK_NULL_HANDLE) {
    do {
      result = fences_.wait(item.fence, given_up() ? std::chrono::milliseconds(0) : kWaitSlice);
    } while (result == VK_TIMEOUT && !given_up());
  }
  if (item.submission && result == VK_SUCCESS) reporter_.report(*item.submission);
  if (item.submission && result != VK_SUCCESS) {
    reporter_.lost(*item.submission, result == VK_TIMEOUT
                                         ? "the application ended before the GPU had finished"
                                         : fmt::format("the device was lost (VkResult {})",
                                                       static_cast<int>(result)));
  }
  if (item.frame_end) reporter_.report(*item.frame_end);
  if (item.fence != VK_NULL_HANDLE && result == VK_SUCCESS) fences_.give_back(item.fence);
}

}  // namespace tally::capture
