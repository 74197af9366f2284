#include "counters/features/performance/lock.h"

#include <algorithm>
#include <chrono>

#include "base/log.h"

namespace tally::counters {
namespace {

using Clock = std::chrono::steady_clock;

constexpr uint64_t kMaxTimeout = UINT64_C(1) << 60;  // ns; deadlines cannot overflow

// The remaining time of a timeout. An infinite timeout stays infinite.
class TimeLeft {
 public:
  explicit TimeLeft(uint64_t timeout_ns)
      : endless_(timeout_ns >= kMaxTimeout),
        deadline_(Clock::now() + std::chrono::nanoseconds(std::min(timeout_ns, kMaxTimeout))) {}
  Clock::time_point deadline() const { return deadline_; }
  uint64_t nanoseconds() const {
    if (endless_) return UINT64_MAX;
    const std::chrono::nanoseconds left = deadline_ - Clock::now();
    return static_cast<uint64_t>(std::max<int64_t>(0, left.count()));
  }

 private:
  bool endless_;
  Clock::time_point deadline_;
};

}  // namespace

VkResult ProfilingLock::acquire(uint64_t timeout_ns) {
  const TimeLeft left(timeout_ns);
  std::unique_lock lock(mutex_);
  if (!changed_.wait_until(lock, left.deadline(), [&] { return !asking_; })) return VK_TIMEOUT;
  if (held_) return VK_SUCCESS;
  asking_ = true;
  lock.unlock();
  const VkResult result = acquire_both(left.nanoseconds());
  lock.lock();
  asking_ = false;
  held_ = result == VK_SUCCESS;
  changed_.notify_all();
  return result;
}

VkResult ProfilingLock::acquire_both(uint64_t timeout_ns) {
  const TimeLeft left(timeout_ns);
  static_assert(SystemLock::kForever == UINT64_MAX);
  const SystemLock::Outcome outcome = lock_.acquire(timeout_ns);
  if (outcome == SystemLock::Outcome::Busy) return VK_TIMEOUT;
  if (outcome == SystemLock::Outcome::Unavailable) {
    log_once(LogLevel::Warning,
             "this process cannot create the profiling lock: other processes may profile at the "
             "same time");
  }
  if (!driver_.acquire) return VK_SUCCESS;
  const VkResult result = driver_.acquire(left.nanoseconds());
  if (result != VK_SUCCESS) lock_.release();
  return result;
}

bool ProfilingLock::release() {
  const std::lock_guard lock(mutex_);
  if (!held_) return false;
  held_ = false;
  if (driver_.release) driver_.release();
  lock_.release();
  return true;
}

}  // namespace tally::counters
