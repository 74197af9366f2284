// A folder of this process's own below TMPDIR, which goes with the object. Its owner holds a lock
// on it that the kernel frees however the process ends: the next process of this user that makes
// such a folder removes those whose owners are gone.
#pragma once

#include <filesystem>

#include "base/status.h"
#include "store/unique_fd.h"

namespace tally::cli {

class TemporaryFolder {
 public:
  static Result<TemporaryFolder> make();
  TemporaryFolder(TemporaryFolder&& other) noexcept;
  TemporaryFolder& operator=(TemporaryFolder&&) = delete;
  ~TemporaryFolder();

  const std::filesystem::path& path() const { return path_; }

 private:
  TemporaryFolder(std::filesystem::path path, store::UniqueFd lock);

  std::filesystem::path path_;
  store::UniqueFd lock_;
};

}  // namespace tally::cli
