// A thread inside the application's process. It blocks asynchronous signals, so the application's
// handlers for them never run on it (platform/process.h).
#pragma once

#include <pthread.h>

#include <chrono>
#include <thread>
#include <utility>

#include "platform/process.h"

namespace tally {

// `name` is at most 15 characters long.
template <typename Body>
std::thread quiet_thread(const char* name, Body&& body) {
  std::thread thread = [&] {
    const platform::QuietScope quiet(platform::QuietScope::Synchronous::Unblocked);
    return std::thread(std::forward<Body>(body));
  }();
  ::pthread_setname_np(thread.native_handle(), name);
  return thread;
}

// A thread that starts when there is work and ends after a time without work. The owner's mutex
// guards it: the caller of start() and end() holds the mutex, the caller of join() does not.

// How long an idle thread waits for work.
inline constexpr auto kIdleTime = std::chrono::milliseconds(200);

class OnDemandThread {
 public:
  explicit OnDemandThread(const char* name) : name_(name) {}
  ~OnDemandThread() { join(); }
  OnDemandThread(const OnDemandThread&) = delete;
  OnDemandThread& operator=(const OnDemandThread&) = delete;

  // Runs `body` on a thread, unless it already runs. `body` calls end() before it releases the
  // mutex for the last time.
  template <typename Body>
  void start(Body&& body) {
    if (std::exchange(running_, true)) return;
    join();  // the previous thread is returning
    thread_ = quiet_thread(name_, std::forward<Body>(body));
  }
  void end() { running_ = false; }

  // May be called on the thread itself: the last thread of a process runs the exit handlers.
  void join() {
    if (!thread_.joinable()) return;
    if (thread_.get_id() == std::this_thread::get_id()) {
      thread_.detach();
    } else {
      thread_.join();
    }
  }
  // After a fork, in the child, where the thread does not exist.
  void forget() {
    if (thread_.joinable()) thread_.detach();
  }

 private:
  const char* const name_;
  std::thread thread_;
  bool running_ = false;
};

}  // namespace tally
