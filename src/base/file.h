// Reads a file whose name comes from outside. Accepts only a regular file of bounded size. Opening
// never blocks, as it would on a FIFO without a writer.
#pragma once

#include <signal.h>

#include <cstddef>
#include <ctime>
#include <string>

#include "base/status.h"

namespace tally {

inline constexpr size_t kSmallFileLimit = size_t{1} << 20;

Result<std::string> read_small_file(const std::string& path, size_t limit = kSmallFileLimit);

// Beyond the application's limit for the size of files (RLIMIT_FSIZE), a write fails and raises a
// signal that ends the process. During the lifetime of this object it only fails, in this thread.

class NoFileSizeSignal {
 public:
  NoFileSizeSignal() {
    ::sigemptyset(&signal_);
    ::sigaddset(&signal_, SIGXFSZ);
    sigset_t pending;
    ::sigpending(&pending);
    was_pending_ = ::sigismember(&pending, SIGXFSZ) == 1;
    ::pthread_sigmask(SIG_BLOCK, &signal_, &before_);
  }
  ~NoFileSizeSignal() {
    constexpr timespec kNow{};
    if (!was_pending_) ::sigtimedwait(&signal_, nullptr, &kNow);
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  NoFileSizeSignal(const NoFileSizeSignal&) = delete;
  NoFileSizeSignal& operator=(const NoFileSizeSignal&) = delete;

 private:
  sigset_t signal_;
  sigset_t before_;
  bool was_pending_ = false;
};

}  // namespace tally
