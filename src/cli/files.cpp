#include "cli/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <random>
#include <utility>

#include "cli/command.h"
#include "report/table/display_text.h"

namespace tally::cli {
namespace {

namespace fs = std::filesystem;

void keep_mode(const std::string& path, int file) {
  struct stat info {};
  if (::stat(path.c_str(), &info) == 0) ::fchmod(file, info.st_mode & 0777);
}

}  // namespace

Status replace_file(const std::string& path, const std::string& text) {
  std::error_code ignored;
  if (fs::exists(path, ignored) && !fs::is_regular_file(path, ignored))
    return Error{path + ": not a regular file"};
  // A symbolic link stays one.
  const fs::path target =
      fs::is_symlink(path, ignored) ? fs::canonical(path, ignored) : fs::path(path);
  if (target.empty()) return Error{path + ": broken symbolic link"};
  auto file = PartialFile::create(AT_FDCWD, target.string());
  if (!file) return with_context(file.error(), path);
  keep_mode(path, file->descriptor());
  file->write(text);
  const int error = file->finish(Existing::Replace);
  return error == 0 ? Status() : Error{path + ": " + std::strerror(error)};
}

namespace {

constexpr size_t kBufferSize = size_t{64} << 10;
constexpr int kMaxTries = 100;

}  // namespace

std::string temporary_name(const std::string& path) {
  std::random_device random;
  return fmt::format("{}.{:08x}", path, random());
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

bool rename_file(int folder, const std::string& from, const std::string& to, Existing existing) {
  if (existing == Existing::Replace)
    return ::renameat(folder, from.c_str(), folder, to.c_str()) == 0;
  if (::renameat2(folder, from.c_str(), folder, to.c_str(), RENAME_NOREPLACE) == 0) return true;
  if (errno != EINVAL && errno != ENOSYS) return false;
  // The file system has no such rename: a second link does the same.
  if (::linkat(folder, from.c_str(), folder, to.c_str(), 0) != 0) return false;
  ::unlinkat(folder, from.c_str(), 0);
  return true;
}

Result<PartialFile> PartialFile::create(int folder, const std::string& path, mode_t mode) {
  for (int i = 0; i < kMaxTries; ++i) {
    std::string temporary = temporary_name(path);
    store::UniqueFd file(::openat(folder, temporary.c_str(),
                                  O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, mode));
    if (file) return PartialFile(folder, path, std::move(temporary), std::move(file));
    if (errno != EEXIST) break;
  }
  return Error{std::strerror(errno)};
}

PartialFile::PartialFile(PartialFile&& other) noexcept
    : folder_(other.folder_),
      path_(std::move(other.path_)),
      temporary_(std::exchange(other.temporary_, {})),
      file_(std::move(other.file_)),
      buffer_(std::move(other.buffer_)),
      error_(other.error_) {}

PartialFile::~PartialFile() {
  if (!temporary_.empty()) ::unlinkat(folder_, temporary_.c_str(), 0);
}

void PartialFile::write(std::string_view piece) {
  buffer_ += piece;
  if (buffer_.size() >= kBufferSize) flush();
}

void PartialFile::flush() {
  if (error_ == 0 && !write_all(file_.get(), buffer_)) error_ = errno;
  buffer_.clear();
}

int PartialFile::finish(Existing existing) {
  flush();
  if (error_ == 0 && ::fsync(file_.get()) != 0) error_ = errno;
  if (error_ == 0 && !rename_file(folder_, temporary_, path_, existing)) error_ = errno;
  if (error_ == 0) temporary_.clear();
  return error_;
}

namespace {

namespace fs = std::filesystem;

constexpr int kMaxNumbers = 10'000;

// Creates the file unless it exists, so that processes never share a name. Returns whether
// it was created.
Result<bool> take(const std::string& path) {
  const int file = ::open(path.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0644);
  if (file < 0 && errno != EEXIST) return Error{path + ": " + std::strerror(errno)};
  if (file >= 0) ::close(file);
  return file >= 0;
}

}  // namespace

Result<std::string> choose_output(const std::string& asked, const std::string& application,
                                  bool force) {
  std::string stem = fs::path(application).filename().string();
  if (stem.empty()) stem = "capture";
  const std::string plain = asked.empty() ? stem + ".tally" : asked;
  if (force) return plain;
  const auto taken = take(plain);
  if (!taken) return taken.error();
  if (*taken) return plain;
  if (!asked.empty()) {
    return Error{fmt::format("{} exists; choose another name, or replace it with --force", asked)};
  }
  for (int number = 2; number < kMaxNumbers; ++number) {
    std::string numbered = fmt::format("{}-{}.tally", stem, number);
    const auto made = take(numbered);
    if (!made) return made.error();
    if (*made) return numbered;
  }
  return Error{
      fmt::format("{}.tally and its numbered names all exist; choose a name with -o", stem)};
}

namespace {

// The absolute path as an address (RFC 8089), which terminals make a link of.
std::string address_of(const std::string& path) {
  std::error_code ignored;
  std::string address = "file://";
  for (const char c : fs::absolute(path, ignored).lexically_normal().string()) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = byte < 0x80 && (std::isalnum(byte) != 0 || std::strchr("/-._~", c));
    address += plain ? std::string(1, c) : fmt::format("%{:02X}", byte);
  }
  return address;
}

}  // namespace

std::string written_line(const std::string& what, const std::string& path) {
  std::error_code ignored;
  const auto size = fs::file_size(path, ignored);
  return fmt::format("{}: {} ({}), {}", what, path,
                     report::bytes_text(ignored ? 0 : static_cast<double>(size)), address_of(path));
}

void say_written(const std::string& what, const std::string& path) {
  say(written_line(what, path));
}

namespace {

Error failure(const std::string& path, int number) {
  return Error{fmt::format("{}: {}", path.empty() ? "cannot write to standard output" : path,
                           std::strerror(number))};
}

// A file that must not be replaced, even with --force.
Status may_replace(const std::string& path, const std::string& capture) {
  std::error_code ignored;
  if (!fs::exists(path, ignored)) return {};
  if (!fs::is_regular_file(path, ignored)) return Error{path + " is not a regular file"};
  if (fs::equivalent(path, capture, ignored)) return Error{path + " is the capture itself"};
  return {};
}

}  // namespace

Result<ExportFile> ExportFile::open(const std::string& path, const std::string& capture,
                                    bool force) {
  if (path.empty() || path == "-") return ExportFile();
  if (force) {
    if (Status allowed = may_replace(path, capture); !allowed) return allowed.error();
  }
  const auto chosen = choose_output(path, {}, force);
  if (!chosen) return chosen.error();
  auto file = PartialFile::create(AT_FDCWD, path, 0644);
  if (file) return ExportFile(path, std::move(*file), !force);
  if (!force) ::unlink(path.c_str());
  return with_context(file.error(), path);
}

ExportFile::ExportFile(ExportFile&& other) noexcept
    : path_(std::move(other.path_)),
      file_(std::move(other.file_)),
      is_reserved_(std::exchange(other.is_reserved_, false)),
      error_(other.error_) {}

ExportFile::~ExportFile() {
  if (is_reserved_) ::unlink(path_.c_str());
}

void ExportFile::write(std::string_view piece) {
  if (file_) return file_->write(piece);
  if (error_ == 0 && std::fwrite(piece.data(), 1, piece.size(), stdout) != piece.size())
    error_ = errno;
}

Status ExportFile::finish() {
  if (file_) error_ = file_->finish(Existing::Replace);
  if (!file_ && error_ == 0 && std::fflush(stdout) != 0) error_ = errno;
  if (error_ != 0) return failure(path_, error_);
  is_reserved_ = false;
  return {};
}

void ExportFile::say_written(const std::string& what) const {
  if (file_) cli::say_written(what, path_);
}

bool ExportFile::is_terminal() const { return !file_ && ::isatty(STDOUT_FILENO) != 0; }

namespace {

namespace fs = std::filesystem;

constexpr const char* kPrefix = "tally-run-";
constexpr const char* kRandomPart = "XXXXXX";  // mkdtemp replaces it

// Absolute: the application finds the socket there from any working directory.
Result<fs::path> parent_folder() {
  const char* chosen = secure_getenv("TMPDIR");
  std::error_code error;
  const fs::path folder = fs::absolute(chosen && *chosen ? chosen : "/tmp", error);
  if (error) return Error{fmt::format("TMPDIR={}: {}", chosen, error.message())};
  return folder;
}

// Locks the folder. Fails if it belongs to another user, if it is to be private and others have
// access to it, or if it is already locked.
store::UniqueFd lock_folder(const fs::path& folder, bool is_private) {
  store::UniqueFd opened(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat info {};
  const bool ours = opened && fstat(opened.get(), &info) == 0 && info.st_uid == geteuid() &&
                    (!is_private || (info.st_mode & 077) == 0);
  return ours && flock(opened.get(), LOCK_EX | LOCK_NB) == 0 ? std::move(opened)
                                                             : store::UniqueFd();
}

void remove_abandoned_folders(const fs::path& parent, const std::string& prefix, bool is_private) {
  std::error_code error;
  for (fs::directory_iterator entry(parent, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (!name.starts_with(prefix) || name.size() != prefix.size() + std::strlen(kRandomPart))
      continue;
    std::error_code ignored;
    if (const store::UniqueFd lock = lock_folder(entry->path(), is_private))
      fs::remove_all(entry->path(), ignored);
  }
}

mode_t usual_mode() {
  const mode_t mask = ::umask(0);
  ::umask(mask);
  return 0777 & ~mask;
}

}  // namespace

Result<TemporaryFolder> TemporaryFolder::make() {
  const auto parent = parent_folder();
  if (!parent) return parent.error();
  return make(*parent, kPrefix, true);
}

Result<TemporaryFolder> TemporaryFolder::make_in(const fs::path& parent,
                                                 const std::string& prefix) {
  return make(parent, prefix, false);
}

Result<TemporaryFolder> TemporaryFolder::make(const fs::path& parent, const std::string& prefix,
                                              bool is_private) {
  remove_abandoned_folders(parent, prefix, is_private);
  constexpr int kMaxTries = 10;
  for (int i = 0; i < kMaxTries; ++i) {
    std::string path = (parent / (prefix + kRandomPart)).string();
    if (mkdtemp(path.data()) == nullptr) {
      return Error{fmt::format("cannot create a folder in {}{}: {}", parent.string(),
                               is_private ? " (TMPDIR)" : "", std::strerror(errno))};
    }
    // Before we lock it, another process may consider the folder abandoned and remove it.
    store::UniqueFd lock = lock_folder(path, is_private);
    if (!is_private && lock && ::fchmod(lock.get(), usual_mode()) != 0) {
      const int error = errno;
      ::rmdir(path.c_str());
      return Error{fmt::format("{}: {}", path, std::strerror(error))};
    }
    std::error_code ignored;
    if (lock && fs::exists(path, ignored)) return TemporaryFolder(path, std::move(lock));
  }
  return Error{
      fmt::format("cannot create a folder in {}: other processes remove it", parent.string())};
}

TemporaryFolder::TemporaryFolder(fs::path path, store::UniqueFd lock)
    : path_(std::move(path)), lock_(std::move(lock)) {}

TemporaryFolder::TemporaryFolder(TemporaryFolder&& other) noexcept
    : path_(std::exchange(other.path_, {})), lock_(std::move(other.lock_)) {}

int TemporaryFolder::rename_to(const fs::path& path) {
  if (::rename(path_.c_str(), path.c_str()) != 0) return errno;
  path_.clear();
  return 0;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

}  // namespace tally::cli
