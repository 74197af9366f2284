// A thread inside the application's process. It blocks asynchronous signals, so the application's
// handlers for them never run on it. It does not block synchronous signals, which its own
// instructions raise: an application may handle and recover from them, for example to track writes
// to protected pages, and the kernel kills the process if such a signal is blocked.
#pragma once

#include <pthread.h>
#include <signal.h>

#include <thread>
#include <utility>

namespace tally::store {

inline constexpr int kSynchronousSignals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL,
                                              SIGTRAP, SIGSYS, SIGABRT};

// `name` is at most 15 characters long.
template <typename Body>
std::thread quiet_thread(const char* name, Body&& body) {
  sigset_t blocked;
  sigset_t before;
  ::sigfillset(&blocked);
  for (const int signal : kSynchronousSignals) ::sigdelset(&blocked, signal);
  ::pthread_sigmask(SIG_SETMASK, &blocked, &before);
  std::thread thread(std::forward<Body>(body));
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  ::pthread_setname_np(thread.native_handle(), name);
  return thread;
}

}  // namespace tally::store
