#include "cli/text_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "store/unique_fd.h"

namespace tally::cli {
namespace {

namespace fs = std::filesystem;

bool write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t size = ::write(file, text.data(), text.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return false;
    text.remove_prefix(static_cast<size_t>(size));
  }
  return ::fsync(file) == 0;
}

mode_t mode_of(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) == 0) return info.st_mode & 0777;
  const mode_t mask = ::umask(0);
  ::umask(mask);
  return 0666 & ~mask;
}

}  // namespace

Status replace_file(const std::string& path, const std::string& text) {
  std::error_code ignored;
  if (fs::exists(path, ignored) && !fs::is_regular_file(path, ignored))
    return Error{path + ": is not a regular file"};
  const auto failed = [&path] { return Error{path + ": " + std::strerror(errno)}; };
  // A symbolic link stays one.
  const fs::path target =
      fs::is_symlink(path, ignored) ? fs::canonical(path, ignored) : fs::path(path);
  if (target.empty()) return Error{path + ": is a broken symbolic link"};
  std::string temporary = target.string() + ".XXXXXX";
  store::UniqueFd file(::mkostemp(temporary.data(), O_CLOEXEC));
  if (!file) return failed();
  const bool written = write_all(file.get(), text) && ::fchmod(file.get(), mode_of(path)) == 0 &&
                       ::rename(temporary.c_str(), target.c_str()) == 0;
  if (written) return {};
  const Error error = failed();
  ::unlink(temporary.c_str());
  return error;
}

}  // namespace tally::cli
