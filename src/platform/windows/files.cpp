// The program's code page is UTF-8 (start.manifest), so the narrow functions of the C library and
// of Windows take UTF-8.
#include "platform/files.h"

#include <direct.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <io.h>
#include <share.h>
#include <sys/stat.h>
#include <windows.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <random>
#include <utility>

namespace tally::platform {
namespace {

int errno_of(DWORD error) {
  switch (error) {
    case ERROR_FILE_NOT_FOUND:
    case ERROR_PATH_NOT_FOUND:
    case ERROR_INVALID_NAME:
      return ENOENT;
    case ERROR_ACCESS_DENIED:
    case ERROR_SHARING_VIOLATION:
    case ERROR_LOCK_VIOLATION:
      return EACCES;
    case ERROR_ALREADY_EXISTS:
    case ERROR_FILE_EXISTS:
      return EEXIST;
    case ERROR_DIR_NOT_EMPTY:
      return ENOTEMPTY;
    case ERROR_DISK_FULL:
    case ERROR_HANDLE_DISK_FULL:
      return ENOSPC;
    default:
      return EIO;
  }
}

bool fail_with(DWORD error) {
  errno = errno_of(error);
  return false;
}

// Another program, such as a virus scanner, may have the file open for a moment.
constexpr int kMaxTries = 20;
constexpr DWORD kBetweenTriesMs = 50;

bool may_pass(DWORD error) {
  return error == ERROR_ACCESS_DENIED || error == ERROR_SHARING_VIOLATION ||
         error == ERROR_LOCK_VIOLATION;
}

template <typename Call>
bool try_repeatedly(const Call& call) {
  for (int i = 1; !call(); ++i) {
    const DWORD error = ::GetLastError();
    if (i == kMaxTries || !may_pass(error)) return fail_with(error);
    ::Sleep(kBetweenTriesMs);
  }
  return true;
}

HANDLE handle_of(int file) { return reinterpret_cast<HANDLE>(::_get_osfhandle(file)); }

int open_file(const std::string& path, int flags, int mode = 0) {
  return ::_sopen(path.c_str(), flags | _O_BINARY | _O_NOINHERIT, _SH_DENYNO, mode);
}

}  // namespace

int open_to_read(const std::string& path) { return open_file(path, _O_RDONLY); }

int open_to_append(const std::string& path) {
  return open_file(path, _O_WRONLY | _O_CREAT | _O_APPEND, _S_IREAD | _S_IWRITE);
}

std::optional<uint64_t> size_of_regular_file(int file) {
  struct _stat64 info {};
  if (::_fstat64(file, &info) != 0 || (info.st_mode & _S_IFMT) != _S_IFREG) return std::nullopt;
  return static_cast<uint64_t>(info.st_size);
}

ssize_t read_at(int file, void* buffer, size_t size, uint64_t offset) {
  OVERLAPPED at{};
  at.Offset = static_cast<DWORD>(offset);
  at.OffsetHigh = static_cast<DWORD>(offset >> 32);
  DWORD count = 0;
  const DWORD most = static_cast<DWORD>(std::min<size_t>(size, INT_MAX));
  if (::ReadFile(handle_of(file), buffer, most, &count, &at) == 0 &&
      ::GetLastError() != ERROR_HANDLE_EOF) {
    fail_with(::GetLastError());
    return -1;
  }
  return static_cast<ssize_t>(count);
}

bool write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const auto most = static_cast<unsigned>(std::min<size_t>(text.size(), INT_MAX));
    const int size = ::_write(file, text.data(), most);
    if (size < 0) return false;
    text.remove_prefix(static_cast<size_t>(size));
  }
  return true;
}

bool write_to_disk(int file) { return ::_commit(file) == 0; }

// A file inherits the permissions of its folder.
void copy_permissions(const std::string& /*from*/, int /*file*/) {}

// The bytes that SQLite locks: PENDING_BYTE and those after it.
bool is_locked_by_sqlite(int file) {
  OVERLAPPED at{};
  at.Offset = 0x40000000;
  constexpr DWORD kBytes = 512;
  if (::LockFileEx(handle_of(file), LOCKFILE_EXCLUSIVE_LOCK | LOCKFILE_FAIL_IMMEDIATELY, 0, kBytes,
                   0, &at) == 0) {
    return true;
  }
  ::UnlockFileEx(handle_of(file), 0, kBytes, 0, &at);
  return false;
}

// Windows has no such limit.
NoFileSizeSignal::NoFileSizeSignal() : before_() {}
NoFileSizeSignal::~NoFileSizeSignal() = default;

namespace {

std::string joined(const std::string& folder, const std::string& name) {
  return folder.empty() ? name : folder + "\\" + name;
}

bool is_link(const std::string& path) {
  const DWORD attributes = ::GetFileAttributesA(path.c_str());
  return attributes != INVALID_FILE_ATTRIBUTES && (attributes & FILE_ATTRIBUTE_REPARSE_POINT) != 0;
}

bool is_folder(const std::string& path) {
  const DWORD attributes = ::GetFileAttributesA(path.c_str());
  return attributes != INVALID_FILE_ATTRIBUTES && (attributes & FILE_ATTRIBUTE_DIRECTORY) != 0;
}

}  // namespace

Folder::Folder(int descriptor, std::string path)
    : descriptor_(descriptor), path_(std::move(path)) {}
Folder::Folder(Folder&& other) noexcept = default;
Folder& Folder::operator=(Folder&& other) noexcept = default;
Folder::~Folder() = default;

const Folder& Folder::current() {
  static const Folder folder(-1);
  return folder;
}

std::optional<Folder> Folder::open(const std::string& path) {
  if (is_folder(path)) return Folder(-1, path);
  errno = ENOTDIR;
  return std::nullopt;
}

std::optional<Folder> Folder::make_folder(const std::string& name) const {
  const std::string path = joined(path_, name);
  if (::_mkdir(path.c_str()) != 0 && errno != EEXIST) return std::nullopt;
  if (!is_link(path)) return open(path);
  errno = ENOTDIR;
  return std::nullopt;
}

int Folder::create_file(const std::string& name, unsigned /*mode*/) const {
  return open_file(joined(path_, name), _O_CREAT | _O_EXCL | _O_WRONLY, _S_IREAD | _S_IWRITE);
}

int Folder::open_to_read(const std::string& name) const {
  const std::string path = joined(path_, name);
  if (!is_link(path)) return platform::open_to_read(path);
  errno = EACCES;
  return -1;
}

bool Folder::rename_file(const std::string& from, const std::string& to, Existing existing) const {
  const DWORD flags =
      MOVEFILE_WRITE_THROUGH | (existing == Existing::Replace ? MOVEFILE_REPLACE_EXISTING : 0u);
  return try_repeatedly([&] {
    return ::MoveFileExA(joined(path_, from).c_str(), joined(path_, to).c_str(), flags) != 0;
  });
}

// Another program may have the file open and let others remove it. Its name may then stay taken
// until that program closes it, so the file gets another name first.
bool Folder::remove_file(const std::string& name) const {
  const std::string path = joined(path_, name);
  const std::string removed = fmt::format("{}.removed-{}", path, ::GetCurrentProcessId());
  if (!try_repeatedly([&] { return ::MoveFileExA(path.c_str(), removed.c_str(), 0) != 0; }))
    return false;
  if (::DeleteFileA(removed.c_str()) != 0) return true;
  const DWORD error = ::GetLastError();
  ::MoveFileExA(removed.c_str(), path.c_str(), 0);
  return fail_with(error);
}

std::string temporary_folder() {
  char path[MAX_PATH + 1];
  const DWORD size = ::GetTempPathA(sizeof path, path);
  return {path, std::min<size_t>(size, MAX_PATH)};
}

std::optional<std::string> make_unique_folder(const std::string& prefix) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz0123456789";
  std::random_device random;
  for (int i = 0; i < kMaxTries; ++i) {
    std::string path = prefix;
    for (size_t c = 0; c < kRandomCharacters; ++c) path += kLetters[random() % kLetters.size()];
    if (::_mkdir(path.c_str()) == 0) return path;
    if (errno != EEXIST) break;
  }
  return std::nullopt;
}

// A lock is an object of Windows with the folder's path as its name: an open file in the folder
// would keep it from being renamed.
std::optional<FolderLock> FolderLock::take(const std::string& path, bool /*is_private*/) {
  char full[32768];
  if (::GetFullPathNameA(path.c_str(), sizeof full, full, nullptr) == 0) return std::nullopt;
  std::string name(full);
  std::replace(name.begin(), name.end(), '\\', '/');
  const HANDLE mutex = ::CreateMutexA(nullptr, FALSE, ("Local\\tally-folder-" + name).c_str());
  if (mutex == nullptr) return std::nullopt;
  FolderLock lock(reinterpret_cast<intptr_t>(mutex));
  if (::GetLastError() == ERROR_ALREADY_EXISTS) return std::nullopt;
  return lock;
}

FolderLock::FolderLock(FolderLock&& other) noexcept
    : handle_(std::exchange(other.handle_, kNone)) {}

FolderLock::~FolderLock() {
  if (handle_ != kNone) ::CloseHandle(reinterpret_cast<HANDLE>(handle_));
}

bool FolderLock::share_folder() const { return true; }

}  // namespace tally::platform

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
