#include "capture/readback/submission_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "store/clock.h"
#include "vk/boundary.h"

namespace tally::capture {
namespace {

constexpr auto kWaitSlice = std::chrono::milliseconds(50);

}  // namespace

SubmissionReader::~SubmissionReader() {
  stop(std::chrono::milliseconds::max());
  for (const VkFence fence : free_fences_) table_.DestroyFence(device_, fence, nullptr);
}

VkFence SubmissionReader::borrow_fence() {
  {
    const std::lock_guard lock(mutex_);
    if (!free_fences_.empty()) {
      const VkFence fence = free_fences_.back();
      free_fences_.pop_back();
      return fence;
    }
  }
  const VkFenceCreateInfo info{VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
  VkFence fence = VK_NULL_HANDLE;
  if (table_.CreateFence(device_, &info, nullptr, &fence) != VK_SUCCESS) return VK_NULL_HANDLE;
  return fence;
}

void SubmissionReader::give_back(VkFence fence) {
  table_.ResetFences(device_, 1, &fence);
  const std::lock_guard lock(mutex_);
  free_fences_.push_back(fence);
}

bool SubmissionReader::submit_fence(PendingSubmission& item) {
  item.fence = borrow_fence();
  return item.fence != VK_NULL_HANDLE &&
         table_.QueueSubmit(queue_, 0, nullptr, item.fence) == VK_SUCCESS;
}

void SubmissionReader::add(PendingSubmission item) {
  if (item.submission && !submit_fence(item)) {
    reporter_.lost(*item.submission, "no fence is available: the values of a submission are lost");
    return;
  }
  {
    std::unique_lock lock(mutex_);
    reported_.wait(lock, [this] { return !reading_is_behind() || stopping_; });
    if (stopping_) return;
    commands_ += item.commands;
    items_.push_back(std::move(item));
    thread_.start([this] { run(); });
  }
  added_.notify_one();
}

bool SubmissionReader::wait_for(const Matches& matches, std::chrono::milliseconds patience) {
  std::unique_lock lock(mutex_);
  uint64_t target = 0;
  for (size_t i = 0; i < items_.size(); ++i) {
    if (matches(items_[i])) target = reported_count_ + i + 1;
  }
  const auto done = [&] { return reported_count_ >= target || stopping_; };
  // The timeout counts only time without progress.
  auto give_up = std::chrono::steady_clock::now() + patience;
  for (uint64_t before = reported_count_; !done(); before = reported_count_) {
    reported_.wait_for(lock, std::min<std::chrono::milliseconds>(kWaitSlice, patience));
    const auto now = std::chrono::steady_clock::now();
    if (reading_ || reported_count_ != before) give_up = now + patience;
    if (now > give_up) break;
  }
  return done();
}

void SubmissionReader::stop(std::chrono::milliseconds patience) {
  if (patience != std::chrono::milliseconds::max()) {
    give_up_ns_ = store::monotonic_ns() + std::chrono::nanoseconds(patience).count();
  }
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  added_.notify_all();
  thread_.join();
  reported_.notify_all();
}

bool SubmissionReader::given_up() const { return store::monotonic_ns() > give_up_ns_; }

void SubmissionReader::run() {
  std::unique_lock lock(mutex_);
  while (added_.wait_for(lock, store::kIdleTime, [this] { return stopping_ || !items_.empty(); }) &&
         !items_.empty()) {
    PendingSubmission& item = items_.front();  // not moved until this thread removes it
    lock.unlock();
    vk::guarded_void([&] { finish(item); });
    lock.lock();
    reading_ = false;
    std::unique_ptr<Submission> done = std::move(item.submission);  // other threads read the item
    lock.unlock();
    done.reset();  // may drop the last references to its recordings
    lock.lock();
    commands_ -= item.commands;
    items_.pop_front();
    ++reported_count_;
    reported_.notify_all();
  }
  thread_.end();
}

VkResult SubmissionReader::await(const PendingSubmission& item) {
  if (item.fence == VK_NULL_HANDLE) return VK_SUCCESS;
  VkResult result = VK_SUCCESS;
  do {
    const std::chrono::nanoseconds timeout = given_up() ? std::chrono::milliseconds(0) : kWaitSlice;
    result = table_.WaitForFences(device_, 1, &item.fence, VK_TRUE,
                                  static_cast<uint64_t>(timeout.count()));
  } while (result == VK_TIMEOUT && !given_up());
  return result;
}

void SubmissionReader::finish(PendingSubmission& item) {
  const VkResult result = await(item);
  {
    const std::lock_guard lock(mutex_);
    reading_ = true;
  }
  if (item.submission && result == VK_SUCCESS) reporter_.report(*item.submission);
  if (item.submission && result != VK_SUCCESS) {
    reporter_.lost(*item.submission, result == VK_TIMEOUT
                                         ? "the application ended before the GPU had finished"
                                         : fmt::format("the device was lost (VkResult {})",
                                                       static_cast<int>(result)));
  }
  if (item.frame_end) reporter_.report(*item.frame_end);
  if (item.fence != VK_NULL_HANDLE && result == VK_SUCCESS) give_back(item.fence);
}

}  // namespace tally::capture
