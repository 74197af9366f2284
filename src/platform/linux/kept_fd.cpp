#include "platform/kept_fd.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace tally {
namespace {

// The kernel's table of descriptors grows with the highest one: not beyond 4,096.
constexpr rlim_t kEnd = 4096;
constexpr rlim_t kOurs = 64;
// The number of a character device: it distinguishes our /dev/null from another one.
constexpr int kKnownFlags = O_ACCMODE | O_APPEND | O_NONBLOCK;

int moved_up(int fd) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return fd;
  const rlim_t end = std::min(limit.rlim_cur, kEnd);
  if (end <= 2 * kOurs) return fd;
  const int high = ::fcntl(fd, F_DUPFD_CLOEXEC, static_cast<int>(end - kOurs));
  if (high < 0) return fd;
  ::close(fd);
  return high;
}

}  // namespace

KeptFd::KeptFd(int fd) {
  if (fd < 0) return;
  fd_ = moved_up(fd);
  struct stat file {};
  if (::fstat(fd_, &file) != 0) return;
  device_ = file.st_dev;
  inode_ = file.st_ino;
  flags_ = ::fcntl(fd_, F_GETFL) & kKnownFlags;
}

KeptFd::KeptFd(KeptFd&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      device_(other.device_),
      inode_(other.inode_),
      flags_(other.flags_) {}

KeptFd& KeptFd::operator=(KeptFd&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(device_, other.device_);
  std::swap(inode_, other.inode_);
  std::swap(flags_, other.flags_);
  return *this;
}

int KeptFd::get() const {
  struct stat now {};
  if (fd_ < 0 || ::fstat(fd_, &now) != 0) return -1;
  if (now.st_dev != device_ || now.st_ino != inode_) return -1;
  if (!S_ISCHR(now.st_mode)) return fd_;
  return (::fcntl(fd_, F_GETFL) & kKnownFlags) == flags_ ? fd_ : -1;
}

void KeptFd::reset() {
  if (const int fd = get(); fd >= 0) ::close(fd);
  fd_ = -1;
}

}  // namespace tally
