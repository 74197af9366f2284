#include "base/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace tally {
namespace {

Error failed(const std::string& path) {
  return {fmt::format("{}: {}", path, std::strerror(errno))};
}

// Reads up to `limit` + 1 bytes, because the file may grow while it is read.
Result<std::string> read_opened(int descriptor, const std::string& path, size_t limit) {
  struct stat info {};
  if (::fstat(descriptor, &info) != 0) return failed(path);
  if (!S_ISREG(info.st_mode)) return Error{path + ": not a regular file"};
  std::string text;
  char buffer[4096];
  while (text.size() <= limit && static_cast<uintmax_t>(info.st_size) <= limit) {
    const ssize_t size = ::read(descriptor, buffer, sizeof buffer);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return failed(path);
    if (size == 0) return text;
    text.append(buffer, static_cast<size_t>(size));
  }
  return Error{fmt::format("{}: has more than {} bytes", path, limit)};
}

}  // namespace

Result<std::string> read_small_file(const std::string& path, size_t limit) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (descriptor < 0) return failed(path);
  Result<std::string> text = read_opened(descriptor, path, limit);
  ::close(descriptor);
  return text;
}

}  // namespace tally
