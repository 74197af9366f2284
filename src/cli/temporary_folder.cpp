#include "cli/temporary_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

namespace tally::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPrefix = "tally-run-";
constexpr const char* kRandomPart = "XXXXXX";

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
