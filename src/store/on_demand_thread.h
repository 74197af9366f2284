// A thread that is started when there is work and ends when there has been none for a while.
//
// The owner's mutex guards it: `start` and `end` are called with the mutex held, `join` without.
#pragma once

#include <chrono>
#include <thread>
#include <utility>

#include "store/quiet_thread.h"

namespace tally::store {

// How long a thread without work waits for more.
inline constexpr auto kIdleTime = std::chrono::milliseconds(200);

class OnDemandThread {
 public:
  explicit OnDemandThread(const char* name) : name_(name) {}
  ~OnDemandThread() { join(); }
  OnDemandThread(const OnDemandThread&) = delete;
  OnDemandThread& operator=(const OnDemandThread&) = delete;

  // Runs `body` on a thread, unless it is running already. `body` calls end() before it releases
  // the mutex for the last time.
  template <typename Body>
  void start(Body&& body) {
    if (std::exchange(running_, true)) return;
    join();  // the one before is returning
    thread_ = quiet_thread(name_, std::forward<Body>(body));
  }
  void end() { running_ = false; }

  // Also from the thread itself, which runs the exit handlers where it is the process's last.
  void join() {
    if (!thread_.joinable()) return;
    if (thread_.get_id() == std::this_thread::get_id()) {
      thread_.detach();
    } else {
      thread_.join();
    }
  }
  // Forgets the thread: after a fork it does not exist in the child.
  void forget() {
    if (thread_.joinable()) thread_.detach();
  }

 private:
  const char* const name_;
  std::thread thread_;
  bool running_ = false;
};

}  // namespace tally::store
