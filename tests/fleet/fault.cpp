// Preloaded into a program: its call number TALLY_FAULT_AT of those that change files kills the
// process, or fails as on a full disk where TALLY_FAULT is "full". A write that fails has written
// half.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

namespace {

std::atomic<long> calls{0};

bool is_now() {
  const char* at = std::getenv("TALLY_FAULT_AT");
  return at != nullptr && ++calls == std::atol(at);
}

// False: go on.
bool fault() {
  if (!is_now()) return false;
  const char* kind = std::getenv("TALLY_FAULT");
  if (kind == nullptr || std::strcmp(kind, "full") != 0) kill(getpid(), SIGKILL);
  errno = ENOSPC;
  return true;
}

template <typename Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

ssize_t write(int file, const void* data, size_t size) {
  static const auto real = next<ssize_t(int, const void*, size_t)>("write");
  if (file <= 2 || !is_now()) return real(file, data, size);
  real(file, data, size / 2);
  const char* kind = std::getenv("TALLY_FAULT");
  if (kind == nullptr || std::strcmp(kind, "full") != 0) kill(getpid(), SIGKILL);
  errno = ENOSPC;
  return -1;
}

ssize_t pwrite64(int file, const void* data, size_t size, off64_t offset) {
  static const auto real = next<ssize_t(int, const void*, size_t, off64_t)>("pwrite64");
  return fault() ? -1 : real(file, data, size, offset);
}
ssize_t pwrite(int file, const void* data, size_t size, off_t offset) {
  static const auto real = next<ssize_t(int, const void*, size_t, off_t)>("pwrite");
  return fault() ? -1 : real(file, data, size, offset);
}
int fsync(int file) {
  static const auto real = next<int(int)>("fsync");
  return fault() ? -1 : real(file);
}
int rename(const char* from, const char* to) {
  static const auto real = next<int(const char*, const char*)>("rename");
  return fault() ? -1 : real(from, to);
}
int renameat2(int from_folder, const char* from, int to_folder, const char* to, unsigned flags) {
  static const auto real = next<int(int, const char*, int, const char*, unsigned)>("renameat2");
  return fault() ? -1 : real(from_folder, from, to_folder, to, flags);
}
int mkdir(const char* path, mode_t mode) {
  static const auto real = next<int(const char*, mode_t)>("mkdir");
  return fault() ? -1 : real(path, mode);
}
int fchmod(int file, mode_t mode) {
  static const auto real = next<int(int, mode_t)>("fchmod");
  return fault() ? -1 : real(file, mode);
}
}
#pragma GCC visibility pop
