// Files by their descriptors.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <string>
#include <utility>

#include "base/status.h"

namespace tally {

// A file descriptor that closes itself.
class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~UniqueFd() {
    if (fd_ >= 0) ::close(fd_);
  }

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

inline constexpr size_t kSmallFileLimit = size_t{1} << 20;

// Reads a file whose name comes from outside. Accepts only a regular file of bounded size. Opening
// never blocks, as it would on a FIFO without a writer.
Result<std::string> read_small_file(const std::string& path, size_t limit = kSmallFileLimit);

}  // namespace tally
