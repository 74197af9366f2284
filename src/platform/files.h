// Files, by descriptors of the C library. Names are UTF-8. Where a function fails, errno says why.
// A program that is started inherits no descriptor that is opened here.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tally::platform {

// Opening never blocks, as it would on a FIFO without a writer. Returns -1 on a failure.
int open_to_read(const std::string& path);
// Creates the file where it does not exist.
int open_to_append(const std::string& path);

// Returns nothing where the file is not a regular one.
std::optional<uint64_t> size_of_regular_file(int file);
// Returns the number of bytes, less than `size` only at the end of the file, or -1.
ssize_t read_at(int file, void* buffer, size_t size, uint64_t offset);
bool write_all(int file, std::string_view text);
// Waits until the disk has what was written.
bool write_to_disk(int file);
// Gives the file the permissions of another one, where that exists.
void copy_permissions(const std::string& from, int file);
// True if a connection of SQLite has the file open and locked.
bool is_locked_by_sqlite(int file);

// Beyond the application's limit for the size of files (RLIMIT_FSIZE), a write fails and raises a
// signal that ends the process. During the lifetime of this object it only fails, in this thread.
class NoFileSizeSignal {
 public:
  NoFileSizeSignal();
  ~NoFileSizeSignal();
  NoFileSizeSignal(const NoFileSizeSignal&) = delete;
  NoFileSizeSignal& operator=(const NoFileSizeSignal&) = delete;

 private:
  struct alignas(8) SignalSet {
    std::byte bytes[128];
  };
  SignalSet before_;
  bool was_pending_ = false;
};

enum class Existing {
  Replace,
  Keep,  // renaming fails with EEXIST where the name is taken
};

// An open folder. Names are of what is directly in it, and a link with that name is not followed.
class Folder {
 public:
  // There, names are paths of any kind.
  static const Folder& current();
  static std::optional<Folder> open(const std::string& path);
  Folder(Folder&& other) noexcept;
  Folder& operator=(Folder&& other) noexcept;
  ~Folder();

  // Creates the folder where it does not exist.
  std::optional<Folder> make_folder(const std::string& name) const;
  // To write. Fails with EEXIST where the name is taken.
  int create_file(const std::string& name, unsigned mode) const;
  int open_to_read(const std::string& name) const;
  bool rename_file(const std::string& from, const std::string& to, Existing existing) const;
  bool remove_file(const std::string& name) const;

 private:
  explicit Folder(int descriptor, std::string path = {});

  int descriptor_;    // where the system opens folders
  std::string path_;  // where it does not
};

// The folder for temporary files, which the environment of a privileged program does not choose.
std::string temporary_folder();
// Creates a folder for this user alone whose name has `kRandomCharacters` after the prefix, and
// returns its path.
inline constexpr size_t kRandomCharacters = 6;
std::optional<std::string> make_unique_folder(const std::string& prefix);

// Shows that the owner of a folder runs: the system releases the lock however the process ends.
class FolderLock {
 public:
  // Fails if the folder belongs to another user, if it is to be private and others have access to
  // it, or if it is locked.
  static std::optional<FolderLock> take(const std::string& path, bool is_private);
  FolderLock(FolderLock&& other) noexcept;
  FolderLock& operator=(FolderLock&&) = delete;
  ~FolderLock();

  // Gives others the access that the umask leaves them.
  bool share_folder() const;

 private:
  explicit FolderLock(intptr_t handle) : handle_(handle) {}

  static constexpr intptr_t kNone = -1;
  intptr_t handle_;
};

}  // namespace tally::platform

namespace tally {

// A descriptor that stays open in the application's process.
//
// Programs that become daemons close descriptors that are not their own, and later files get the
// numbers. Therefore a KeptFd
//  - has a high number: few programs close that far, and the application's own files get the
//    numbers that they have without us,
//  - knows its file, by device and inode (a device also by the flags that it was opened with), and
//    gives its number only while that is the same file,
//  - is closed only while it is the same file.
// Another thread may still close the number between the check and its use. So call get() right
// before each use, and keep no copy of the number.
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
