// A private folder of this process below TMPDIR, which the destructor removes. The owner holds a
// lock on it that the kernel releases however the process ends. The next process of this user that
// creates such a folder removes the folders whose owners are gone.
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
