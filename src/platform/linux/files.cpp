#include "platform/files.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <utility>

namespace tally::platform {
namespace {

constexpr int kNeverBlocks = O_NONBLOCK | O_NOCTTY | O_CLOEXEC;

mode_t usual_mode() {
  const mode_t mask = ::umask(0);
  ::umask(mask);
  return 0777 & ~mask;
}

}  // namespace

int open_to_read(const std::string& path) { return ::open(path.c_str(), O_RDONLY | kNeverBlocks); }

int open_to_append(const std::string& path) {
  return ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | kNeverBlocks, 0644);
}

std::optional<uint64_t> size_of_regular_file(int file) {
  struct stat info {};
  if (::fstat(file, &info) != 0 || !S_ISREG(info.st_mode)) return std::nullopt;
  return static_cast<uint64_t>(info.st_size);
}

ssize_t read_at(int file, void* buffer, size_t size, uint64_t offset) {
  return ::pread(file, buffer, size, static_cast<off_t>(offset));
}

bool write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t size = ::write(file, text.data(), text.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return false;
    text.remove_prefix(static_cast<size_t>(size));
  }
  return true;
}

bool write_to_disk(int file) { return ::fsync(file) == 0; }

void copy_permissions(const std::string& from, int file) {
  struct stat info {};
  if (::stat(from.c_str(), &info) == 0) ::fchmod(file, info.st_mode & 0777);
}

// SQLite locks a byte range of each open database.
bool is_locked_by_sqlite(int file) {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return ::fcntl(file, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

namespace {

sigset_t file_size_signal() {
  sigset_t signals;
  ::sigemptyset(&signals);
  ::sigaddset(&signals, SIGXFSZ);
  return signals;
}

}  // namespace

NoFileSizeSignal::NoFileSizeSignal() {
  static_assert(sizeof before_ >= sizeof(sigset_t));
  sigset_t pending, before;
  ::sigpending(&pending);
  was_pending_ = ::sigismember(&pending, SIGXFSZ) == 1;
  const sigset_t signals = file_size_signal();
  ::pthread_sigmask(SIG_BLOCK, &signals, &before);
  std::memcpy(before_.bytes, &before, sizeof before);
}

NoFileSizeSignal::~NoFileSizeSignal() {
  constexpr timespec kNow{};
  const sigset_t signals = file_size_signal();
  if (!was_pending_) ::sigtimedwait(&signals, nullptr, &kNow);
  sigset_t before;
  std::memcpy(&before, before_.bytes, sizeof before);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Folder::Folder(int descriptor, std::string path)
    : descriptor_(descriptor), path_(std::move(path)) {}
Folder::Folder(Folder&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
Folder& Folder::operator=(Folder&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}
Folder::~Folder() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

const Folder& Folder::current() {
  static const Folder folder(AT_FDCWD);
  return folder;
}

std::optional<Folder> Folder::open(const std::string& path) {
  const int opened = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (opened < 0) return std::nullopt;
  return Folder(opened);
}

std::optional<Folder> Folder::make_folder(const std::string& name) const {
  if (::mkdirat(descriptor_, name.c_str(), 0777) != 0 && errno != EEXIST) return std::nullopt;
  const int opened =
      ::openat(descriptor_, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (opened < 0) return std::nullopt;
  return Folder(opened);
}

int Folder::create_file(const std::string& name, unsigned mode) const {
  return ::openat(descriptor_, name.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW | O_CLOEXEC,
                  mode);
}

int Folder::open_to_read(const std::string& name) const {
  return ::openat(descriptor_, name.c_str(), O_RDONLY | O_NOFOLLOW | kNeverBlocks);
}

bool Folder::rename_file(const std::string& from, const std::string& to, Existing existing) const {
  if (existing == Existing::Replace)
    return ::renameat(descriptor_, from.c_str(), descriptor_, to.c_str()) == 0;
  if (::renameat2(descriptor_, from.c_str(), descriptor_, to.c_str(), RENAME_NOREPLACE) == 0)
    return true;
  if (errno != EINVAL && errno != ENOSYS) return false;
  // The file system has no such rename: a second link does the same.
  if (::linkat(descriptor_, from.c_str(), descriptor_, to.c_str(), 0) != 0) return false;
  ::unlinkat(descriptor_, from.c_str(), 0);
  return true;
}

bool Folder::remove_file(const std::string& name) const {
  return ::unlinkat(descriptor_, name.c_str(), 0) == 0;
}

std::string temporary_folder() {
  const char* chosen = ::secure_getenv("TMPDIR");
  return chosen && *chosen ? chosen : "/tmp";
}

std::optional<std::string> make_unique_folder(const std::string& prefix) {
  std::string path = prefix + std::string(kRandomCharacters, 'X');
  if (::mkdtemp(path.data()) == nullptr) return std::nullopt;
  return path;
}

std::optional<FolderLock> FolderLock::take(const std::string& path, bool is_private) {
  const int opened = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (opened < 0) return std::nullopt;
  FolderLock lock(opened);
  struct stat info {};
  const bool ours = ::fstat(opened, &info) == 0 && info.st_uid == ::geteuid() &&
                    (!is_private || (info.st_mode & 077) == 0);
  if (!ours || ::flock(opened, LOCK_EX | LOCK_NB) != 0) return std::nullopt;
  return lock;
}

FolderLock::FolderLock(FolderLock&& other) noexcept
    : handle_(std::exchange(other.handle_, kNone)) {}

FolderLock::~FolderLock() {
  if (handle_ != kNone) ::close(static_cast<int>(handle_));
}

bool FolderLock::share_folder() const {
  return ::fchmod(static_cast<int>(handle_), usual_mode()) == 0;
}

}  // namespace tally::platform

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
