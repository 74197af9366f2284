#include "egl/group/process_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

namespace tally::egl {

int ProcessFile::descriptor() {
  const int open_file = file_.get();
  if (open_file >= 0 && process_ == ::getpid()) return open_file;
  file_ = KeptFd(::open(path_, O_RDONLY | O_CLOEXEC));
  process_ = ::getpid();
  return file_.get();
}

std::string_view ProcessFile::read(std::span<char> memory) {
  const ssize_t size = ::pread(descriptor(), memory.data(), memory.size(), 0);
  return {memory.data(), static_cast<size_t>(std::max<ssize_t>(size, 0))};
}

nlink_t ProcessFile::links() {
  struct stat status {};
  return ::fstat(descriptor(), &status) == 0 ? status.st_nlink : 0;
}

}  // namespace tally::egl
