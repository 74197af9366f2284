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
constexpr const char* kTemplate = "tally-run-XXXXXX";

std::string parent_folder() {
  const char* chosen = secure_getenv("TMPDIR");
  return chosen && *chosen ? chosen : "/tmp";
}

// Not where it is another user's, others may enter it, or somebody holds it.
store::UniqueFd lock_folder(const fs::path& folder) {
  store::UniqueFd opened(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat info {};
  const bool ours = opened && fstat(opened.get(), &info) == 0 && info.st_uid == geteuid() &&
                    (info.st_mode & 077) == 0;
  return ours && flock(opened.get(), LOCK_EX | LOCK_NB) == 0 ? std::move(opened)
                                                             : store::UniqueFd();
}

void remove_left_behind(const fs::path& parent) {
  std::error_code error;
  for (fs::directory_iterator entry(parent, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (!name.starts_with(kPrefix) || name.size() != std::strlen(kTemplate)) continue;
    std::error_code ignored;
    if (const store::UniqueFd lock = lock_folder(entry->path()))
      fs::remove_all(entry->path(), ignored);
  }
}

}  // namespace

Result<TemporaryFolder> TemporaryFolder::make() {
  const fs::path parent = parent_folder();
  remove_left_behind(parent);
  constexpr int kMaxTries = 10;
  for (int i = 0; i < kMaxTries; ++i) {
    std::string path = (parent / kTemplate).string();
    if (mkdtemp(path.data()) == nullptr)
      return Error{fmt::format("{}: {}", path, std::strerror(errno))};
    // Another process may take it for left behind before it is locked.
    store::UniqueFd lock = lock_folder(path);
    std::error_code ignored;
    if (lock && fs::exists(path, ignored)) return TemporaryFolder(path, std::move(lock));
  }
  return Error{fmt::format("{}: no private folder can be created there", parent.string())};
}

TemporaryFolder::TemporaryFolder(fs::path path, store::UniqueFd lock)
    : path_(std::move(path)), lock_(std::move(lock)) {}

TemporaryFolder::TemporaryFolder(TemporaryFolder&& other) noexcept
    : path_(std::exchange(other.path_, {})), lock_(std::move(other.lock_)) {}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

}  // namespace tally::cli
