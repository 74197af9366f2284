#include "counters/features/regions/exclusive_mode.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "base/quiet_thread.h"

namespace tally::counters {
namespace {

using Clock = std::chrono::steady_clock;

constexpr uint64_t kMaxTimeout = UINT64_C(1) << 60;  // ns; deadlines cannot overflow
constexpr uint64_t kFenceTimeout = 100'000'000;      // ns

// True if a signal of `signals` orders work before a wait of `waits`.
bool comes_before(const std::vector<SemaphoreValue>& signals,
                  const std::vector<SemaphoreValue>& waits) {
  return std::ranges::any_of(signals, [&](const SemaphoreValue& signal) {
    return std::ranges::any_of(waits, [&](const SemaphoreValue& wait) {
      return wait.semaphore == signal.semaphore && wait.value <= signal.value;
    });
  });
}

// Only timeline semaphores allow a wait to be submitted before its signal.
std::vector<SemaphoreValue> timelines(const std::vector<SemaphoreValue>& all) {
  std::vector<SemaphoreValue> result;
  std::ranges::copy_if(all, std::back_inserter(result),
                       [](const SemaphoreValue& one) { return one.value != 0; });
  return result;
}

bool cannot_overlap(const CapturingWork& earlier, const CapturingWork& later) {
  return earlier.queue == later.queue || comes_before(earlier.signals, later.waits) ||
         comes_before(timelines(later.signals), earlier.waits);
}

}  // namespace

ExclusiveMode& ExclusiveMode::instance() {
  // Leaked on purpose: applications call Vulkan from static destructors.
  static auto* mode = new ExclusiveMode;
  return *mode;
}

bool ExclusiveMode::may_enter(const CapturingWork& work, uint64_t ticket) const {
  bool certain = !holds_.empty();
  for (const Hold& hold : holds_) {
    if (!cannot_overlap(hold.work, work)) return false;
    certain = certain && hold.work.queue != work.queue;
  }
  // Other work may wait for work that a semaphore orders.
  return certain || waiting_.front() == ticket;
}

std::optional<uint64_t> ExclusiveMode::enter(CapturingWork work, uint64_t timeout_ns) {
  const auto deadline = Clock::now() + std::chrono::nanoseconds(std::min(timeout_ns, kMaxTimeout));
  std::unique_lock lock(mutex_);
  const uint64_t id = next_id_++;
  waiting_.push_back(id);
  const bool alone = changed_.wait_until(lock, deadline, [&] { return may_enter(work, id); });
  const auto left =
      std::chrono::duration_cast<std::chrono::nanoseconds>(deadline - Clock::now()).count();
  const bool entered =
      alone && (!holds_.empty() || acquire_lock(static_cast<uint64_t>(std::max<int64_t>(0, left))));
  waiting_.remove(id);
  if (entered) holds_.push_back({id, std::move(work)});
  changed_.notify_all();
  return entered ? std::optional(id) : std::nullopt;
}

// The process may hold the lock already.
bool ExclusiveMode::acquire_lock(uint64_t timeout_ns) {
  SystemLock::Outcome outcome = lock_.acquire(0);
  if (outcome == SystemLock::Outcome::Busy) {
    if (lock_.holder() == getpid()) return true;
    outcome = lock_.acquire(timeout_ns);
  }
  return outcome == SystemLock::Outcome::Acquired;
}

void ExclusiveMode::leave(uint64_t hold) {
  const std::lock_guard lock(mutex_);
  std::erase_if(holds_, [&](const Hold& one) { return one.id == hold; });
  if (holds_.empty()) lock_.release();
  changed_.notify_all();
}

void CapturingQueue::watch(std::shared_ptr<Submission> submission, uint64_t hold) {
  const std::lock_guard lock(mutex_);
  watched_.push_back({std::move(submission), hold});
  if (!thread_.joinable()) thread_ = quiet_thread("tally regions", [this] { run(); });
  changed_.notify_all();
}

// Waits for submissions in order. If later ones complete first, their holds end slightly late.
void CapturingQueue::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return stopping_ || !watched_.empty(); });
    if (watched_.empty()) return;
    const Watched oldest = watched_.front();
    lock.unlock();
    const bool done = oldest.submission->wait(kFenceTimeout);
    lock.lock();
    if (!done) continue;
    watched_.pop_front();
    ExclusiveMode::instance().leave(oldest.hold);
  }
}

CapturingQueue::~CapturingQueue() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

}  // namespace tally::counters
