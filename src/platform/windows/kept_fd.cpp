#include "platform/kept_fd.h"

#include <io.h>

#include <utility>

namespace tally {

// Programs on Windows do not close what is not their own: they would have to know its handle.
KeptFd::KeptFd(int fd) : fd_(fd) {}
KeptFd::KeptFd(KeptFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
KeptFd& KeptFd::operator=(KeptFd&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}
int KeptFd::get() const { return fd_; }

void KeptFd::reset() {
  if (fd_ >= 0) ::_close(fd_);
  fd_ = -1;
}

}  // namespace tally
