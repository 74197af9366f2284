// A thread inside the application's process. It blocks asynchronous signals, so the application's
// handlers for them never run on it. Synchronous signals, which its own instructions raise, are not
// blocked: an application may handle and recover from them, for example to track writes to
// protected pages, and the kernel kills the process if such a signal is blocked.
#pragma once

#include <pthread.h>
#include <signal.h>

#include <chrono>
#include <thread>
#include <utility>

namespace tally {

inline constexpr int kSynchronousSignals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL,
                                              SIGTRAP, SIGSYS, SIGABRT};

// Blocks the asynchronous signals of the calling thread during its lifetime.
class QuietScope {
 public:
  QuietScope() {
    sigset_t blocked;
    ::sigfillset(&blocked);
    for (const int signal : kSynchronousSignals) ::sigdelset(&blocked, signal);
    ::pthread_sigmask(SIG_BLOCK, &blocked, &before_);
  }
  ~QuietScope() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  QuietScope(const QuietScope&) = delete;
  QuietScope& operator=(const QuietScope&) = delete;

 private:
  sigset_t before_;
};

// `name` is at most 15 characters long.
template <typename Body>
std::thread quiet_thread(const char* name, Body&& body) {
  std::thread thread = [&] {
    const QuietScope quiet;
    sigset_t synchronous;  // the calling thread may have blocked some
    ::sigemptyset(&synchronous);
    for (const int signal : kSynchronousSignals) ::sigaddset(&synchronous, signal);
    ::pthread_sigmask(SIG_UNBLOCK, &synchronous, nullptr);
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
