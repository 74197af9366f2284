// A thread inside somebody else's program. The signals that a process sends are blocked on it, so
// the program's handlers for them never run there. Signals that the thread's own instructions raise
// are not: a program may handle them to go on, as one does that protects pages to see who writes to
// them, and where such a signal is blocked the kernel ends the process instead.
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
