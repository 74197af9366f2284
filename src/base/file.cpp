#include "base/file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>

#include "platform/files.h"

namespace tally {
namespace {

Error failed(const std::string& path) {
  return {fmt::format("{}: {}", path, std::strerror(errno))};
}

// Reads up to `limit` + 1 bytes, because the file may grow while it is read.
Result<std::string> read_opened(int descriptor, const std::string& path, size_t limit) {
  const std::optional<uint64_t> size_before = platform::size_of_regular_file(descriptor);
  if (!size_before) return Error{path + ": not a regular file"};
  std::string text;
  char buffer[4096];
  while (text.size() <= limit && *size_before <= limit) {
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
  const UniqueFd file(platform::open_to_read(path));
  if (!file) return failed(path);
  return read_opened(file.get(), path, limit);
}

}  // namespace tally
