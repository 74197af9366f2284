// A thread inside somebody else's program: all signals are blocked on it, so the program's handlers
// never run there.
#pragma once

#include <pthread.h>
#include <signal.h>

#include <thread>
#include <utility>

namespace tally::store {

// `name` is at most 15 characters long.
template <typename Body>
std::thread quiet_thread(const char* name, Body&& body) {
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread thread(std::forward<Body>(body));
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  ::pthread_setname_np(thread.native_handle(), name);
  return thread;
}

}  // namespace tally::store
