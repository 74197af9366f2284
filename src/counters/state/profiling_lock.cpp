#include "counters/state/profiling_lock.h"

#include <algorithm>
#include <chrono>

#include "base/log.h"

namespace tally::counters {
namespace {

using Clock = std::chrono::steady_clock;

constexpr uint64_t kLongest = UINT64_C(1) << 60;  // ns, so that a deadline cannot overflow

}  // namespace

VkResult ProfilingLock::acquire(uint64_t timeout_ns) {
  const auto deadline = Clock::now() + std::chrono::nanoseconds(std::min(timeout_ns, kLongest));
  std::unique_lock lock(mutex_);
  if (!changed_.wait_until(lock, deadline, [&] { return !asking_; })) return VK_TIMEOUT;
  if (held_) return VK_SUCCESS;
  asking_ = true;
  lock.unlock();
  const auto left =
      std::chrono::duration_cast<std::chrono::nanoseconds>(deadline - Clock::now()).count();
  const SystemLock::Outcome outcome =
      lock_.acquire(timeout_ns >= kLongest ? SystemLock::kForever
                                           : static_cast<uint64_t>(std::max<int64_t>(0, left)));
  lock.lock();
  asking_ = false;
  held_ = outcome != SystemLock::Outcome::Busy;
  changed_.notify_all();
  if (outcome == SystemLock::Outcome::Unavailable) {
    log_once(LogLevel::Warning,
             "this process can have no profiling lock: others may profile at the same time");
  }
  return held_ ? VK_SUCCESS : VK_TIMEOUT;
}

bool ProfilingLock::release() {
  const std::lock_guard lock(mutex_);
  if (!held_) return false;
  held_ = false;
  lock_.release();
  return true;
}

bool ProfilingLock::held() const {
  const std::lock_guard lock(mutex_);
  return held_;
}

}  // namespace tally::counters
