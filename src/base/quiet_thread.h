// A thread inside the application's process. It blocks asynchronous signals, so the application's
// handlers for them never run on it. Synchronous signals, which its own instructions raise, are not
// blocked: an application may handle and recover from them, for example to track writes to
// protected pages, and the kernel kills the process if such a signal is blocked.
#pragma once

#include <pthread.h>
#include <signal.h>

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

}  // namespace tally
