#include "capture/read/submission_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "capture/base/sender.h"
#include "capture/send/reporter.h"
#include "platform/process.h"
#include "store/stream/clock.h"
#include "vk/own_call.h"

namespace tally::capture {
namespace {

constexpr auto kWaitSlice = std::chrono::milliseconds(50);
// For the layer's semaphore, once the application has learned that the work has completed.
constexpr auto kMomentary = std::chrono::milliseconds(1);
// The time that small submissions may wait before they are read.
constexpr auto kGatherTime = std::chrono::milliseconds(4);

}  // namespace

SubmissionReader::~SubmissionReader() { stop(std::chrono::milliseconds::max()); }

bool SubmissionReader::submit_signal(PendingSubmission& item) {
  if (!timeline_.exists()) return false;
  item.value = timeline_.signal([&](VkSemaphore semaphore, uint64_t value) {
    const vk::SignalledBatches<VkSubmitInfo> batch({}, semaphore, value);
    return vk::own("vkQueueSubmit",
                   table_.QueueSubmit(queue_, batch.count(), batch.data(), VK_NULL_HANDLE));
  });
  return item.value != 0;
}

void SubmissionReader::add(PendingSubmission item) {
  if (item.submission && item.value == 0 && !submit_signal(item)) {
    reporter_.lost(*item.submission, vk::take_own_failure().text());
    const std::lock_guard lock(mutex_);
    untracked_.push_back(std::move(item.submission));
    return;
  }
  bool wake = false;
  {
    std::unique_lock lock(mutex_);
    reported_.wait(lock, [this] { return !reading_is_behind() || stopping_; });
    if (stopping_) return;
    commands_ += item.commands;
    if (item.submission) item.untracked = std::exchange(untracked_, {});
    items_.push_back(std::move(item));
    thread_.start([this] { run(); });
    wake = std::exchange(idle_, false) || urgent();
  }
  if (wake) added_.notify_one();
}

void SubmissionReader::wait_for(const Matches& matches, std::chrono::milliseconds patience) {
  uint64_t target = 0;
  const auto done = [&] { return reported_count_ >= target || stopping_; };
  {
    const std::lock_guard lock(mutex_);
    for (size_t i = 0; i < items_.size(); ++i) {
      if (matches(items_[i])) target = reported_count_ + i + 1;
    }
    if (done()) return;
  }
  {
    // A signal handler may call exit(), which locks the mutex and waits for the reading. So no
    // handler runs before the mutex is unlocked.
    const platform::QuietScope quiet;
    const StreamConnection::Gathering gathering(reporter_.connection());
    std::unique_lock lock(mutex_);
    while (!done() && !busy_ && read_first(lock, kMomentary)) continue;
    while (!stopping_ && !busy_ && !items_.empty() && !items_.front().submission &&
           read_first(lock, kMomentary)) {
      continue;
    }
  }
  std::unique_lock lock(mutex_);
  // The timeout counts only time without progress.
  auto give_up = std::chrono::steady_clock::now() + patience;
  ++waiting_;
  for (uint64_t before = reported_count_; !done(); before = reported_count_) {
    added_.notify_one();
    reported_.wait_for(lock, std::min<std::chrono::milliseconds>(kWaitSlice, patience));
    const auto now = std::chrono::steady_clock::now();
    if (reading_ || reported_count_ != before) give_up = now + patience;
    if (now > give_up) break;
  }
  --waiting_;
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

// Waits until there are items to read: at once those that are urgent, others after some time.
// Returns false if there are none.
bool SubmissionReader::await_items(std::unique_lock<std::mutex>& lock) {
  idle_ = true;
  added_.wait_for(lock, kIdleTime, [this] { return stopping_ || !items_.empty(); });
  idle_ = false;
  if (items_.empty()) return false;
  added_.wait_for(lock, kGatherTime, [this] { return urgent(); });
  reported_.wait(lock, [this] { return !busy_; });
  return true;
}

void SubmissionReader::run() {
  std::unique_lock lock(mutex_);
  while (await_items(lock)) {
    lock.unlock();
    read_items();
    lock.lock();
  }
  thread_.end();
}

void SubmissionReader::read_items() {
  const StreamConnection::Gathering gathering(reporter_.connection());
  std::unique_lock lock(mutex_);
  bool read = true;
  while (read && !busy_ && !items_.empty()) {
    read = read_first(lock, urgent() ? kWaitSlice : std::chrono::nanoseconds(0));
  }
}

// Waits at most `patience` for the GPU. Returns false if the first item has not completed by then.
bool SubmissionReader::read_first(std::unique_lock<std::mutex>& lock,
                                  std::chrono::nanoseconds patience) {
  busy_ = true;
  PendingSubmission& item = items_.front();
  lock.unlock();
  const VkResult result = await(item, patience);
  const bool over = result != VK_TIMEOUT || given_up();
  std::unique_ptr<Submission> done;
  if (over) {
    lock.lock();
    reading_ = true;
    lock.unlock();
    vk::guarded_void([&] { report(item, result); });
    lock.lock();
    reading_ = false;
    done = std::move(item.submission);  // other threads read the item
    lock.unlock();
    done.reset();  // may drop the last references to its recordings
  }
  lock.lock();
  if (over) {
    commands_ -= item.commands;
    items_.pop_front();
    ++reported_count_;
  }
  busy_ = false;
  reported_.notify_all();
  return over;
}

VkResult SubmissionReader::await(const PendingSubmission& item, std::chrono::nanoseconds patience) {
  if (item.value == 0) return VK_SUCCESS;
  if (given_up()) patience = std::chrono::nanoseconds(0);
  return timeline_.wait(item.value, static_cast<uint64_t>(patience.count()));
}

void SubmissionReader::report(PendingSubmission& item, VkResult result) {
  if (item.submission && result == VK_SUCCESS) reporter_.report(*item.submission);
  if (item.submission && result != VK_SUCCESS) {
    reporter_.lost(*item.submission,
                   result == VK_TIMEOUT
                       ? "the application ended before the GPU had finished it"
                       : fmt::format("the device was lost ({})", vk::result_name(result)));
  }
  if (item.frame_end) reporter_.report(*item.frame_end);
}

}  // namespace tally::capture
