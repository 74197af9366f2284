#include "cli/partial_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <random>
#include <utility>

namespace tally::cli {
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

}  // namespace tally::cli
