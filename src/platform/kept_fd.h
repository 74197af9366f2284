// A descriptor that stays open in the application's process.
//
// Programs that become daemons close descriptors that are not their own, and later files get the
// numbers. Therefore a KeptFd
//  - has a high number: few programs close that far, and the application's own files get the
//  numbers
//    that they have without us,
//  - knows its file, by device and inode (a device also by the flags that it was opened with), and
//    gives its number only while that is the same file,
//  - is closed only while it is the same file.
// Another thread may still close the number between the check and its use. So call get() right
// before each use, and keep no copy of the number.
#pragma once

#include <sys/stat.h>

namespace tally {

class KeptFd {
 public:
  KeptFd() = default;
  // Owns `fd`, which may be -1, and gives it a high number.
  explicit KeptFd(int fd);
  KeptFd(KeptFd&& other) noexcept;
  KeptFd& operator=(KeptFd&& other) noexcept;
  ~KeptFd() { reset(); }

  // -1: there is none, or it is lost.
  int get() const;
  explicit operator bool() const { return get() >= 0; }
  void reset();

 private:
  int fd_ = -1;
  dev_t device_ = 0;
  ino_t inode_ = 0;
  int flags_ = 0;  // those of open() that stay
};

}  // namespace tally
