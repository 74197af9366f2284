#include "egl/group/process_file.h"

#include <fcntl.h>

#include <algorithm>

namespace tally::egl {

ProcessFile::~ProcessFile() {
  if (is_ours()) ::close(file_);
}

bool ProcessFile::is_ours() {
  if (file_ < 0) return false;
  struct stat now {};
  if (::fstat(file_, &now) != 0) return false;
  if (now.st_dev != status_.st_dev || now.st_ino != status_.st_ino) return false;
  status_ = now;
  return true;
}

bool ProcessFile::refresh() {
  const bool ours = is_ours();
  if (ours && process_ == ::getpid()) return true;
  if (ours) ::close(file_);
  file_ = ::open(path_, O_RDONLY | O_CLOEXEC);
  process_ = ::getpid();
  return file_ >= 0 && ::fstat(file_, &status_) == 0;
}

std::string_view ProcessFile::read(std::span<char> memory) {
  if (!refresh()) return {};
  const ssize_t size = ::pread(file_, memory.data(), memory.size(), 0);
  return {memory.data(), static_cast<size_t>(std::max<ssize_t>(size, 0))};
}

nlink_t ProcessFile::links() { return refresh() ? status_.st_nlink : 0; }

}  // namespace tally::egl
