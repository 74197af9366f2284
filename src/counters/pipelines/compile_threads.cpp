#include "counters/pipelines/compile_threads.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <system_error>
#include <utility>

#include "base/quiet_thread.h"
#include "platform/process.h"

namespace tally::counters {
namespace {

// Shared by all devices of the process.
std::atomic<size_t> g_running = 0;
std::atomic<bool> g_exiting = false;
std::atomic<pid_t> g_process = 0;  // a child after fork() has none of the threads

// exit() destroys what the driver has while threads may still be inside it. The wait is limited:
// the thread that exits may hold a lock of the driver.
void finish_before_exit() {
  constexpr auto kLimit = std::chrono::seconds(2);
  constexpr auto kStep = std::chrono::milliseconds(1);
  // Called once for each thread that was started; the calls share one limit.
  static const auto end = std::chrono::steady_clock::now() + kLimit;
  g_exiting.store(true);
  if (g_process.load() != ::getpid()) return;
  while (g_running.load() != 0 && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(kStep);
  }
}

}  // namespace

CompileThreads::~CompileThreads() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  added_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

bool CompileThreads::run(std::function<void()> task) {
  const std::lock_guard lock(mutex_);
  if (unfinished_.size() == limit_ || g_exiting.load() || !has_thread()) return false;
  waiting_.push_back({next_, std::move(task)});
  unfinished_.push_back(next_++);
  added_.notify_one();
  return true;
}

// True if a thread is free. Starts one if necessary.
bool CompileThreads::has_thread() {
  if (threads_.size() > unfinished_.size()) return true;
  threads_.reserve(limit_);  // nothing may fail after a thread has started
  unfinished_.reserve(limit_);
  g_process.store(::getpid());
  // Again for each thread: exit() calls first what was registered last, and the driver may have
  // registered more since the thread before.
  platform::before_exit(finish_before_exit);
  try {
    threads_.push_back(quiet_thread("tally compile", [this] { work(); }));
    return true;
  } catch (const std::system_error&) {
    return false;
  }
}

void CompileThreads::wait() {
  std::unique_lock lock(mutex_);
  const uint64_t end = next_;
  ended_.wait(lock, [&] {
    return std::ranges::none_of(unfinished_, [&](uint64_t one) { return one < end; });
  });
}

void CompileThreads::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    added_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    Task task = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    ++g_running;
    if (!g_exiting.load()) task.body();
    task.body = nullptr;
    --g_running;
    lock.lock();
    std::erase(unfinished_, task.number);
    ended_.notify_all();
  }
}

}  // namespace tally::counters
