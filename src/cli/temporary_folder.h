// A folder of this process, which the destructor removes: a private one below TMPDIR, or one for
// files that get their place later. The owner holds a lock on it that the kernel releases however
// the process ends. The next process of this user that creates such a folder next to it removes the
// folders whose owners are gone.
#pragma once

#include <filesystem>
#include <string>

#include "base/status.h"
#include "store/unique_fd.h"

namespace tally::cli {

class TemporaryFolder {
 public:
  static Result<TemporaryFolder> make();
  // In `parent`, with the access that the umask gives to others.
  static Result<TemporaryFolder> make_in(const std::filesystem::path& parent,
                                         const std::string& prefix);
  TemporaryFolder(TemporaryFolder&& other) noexcept;
  TemporaryFolder& operator=(TemporaryFolder&&) = delete;
  ~TemporaryFolder();

  const std::filesystem::path& path() const { return path_; }
  // Makes it a lasting folder of this name, which no folder with files has yet. Returns 0 or errno.
  int rename_to(const std::filesystem::path& path);

 private:
  static Result<TemporaryFolder> make(const std::filesystem::path& parent,
                                      const std::string& prefix, bool is_private);
  TemporaryFolder(std::filesystem::path path, store::UniqueFd lock);

  std::filesystem::path path_;
  store::UniqueFd lock_;
};

}  // namespace tally::cli
