#include "cli/text_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cstring>
#include <filesystem>

#include "cli/partial_file.h"

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

}  // namespace tally::cli
