// A file that appears under its name only when it is complete: it is written under a temporary name
// in the same folder, and renamed at the end. Another process sees the old file or the new one, and
// a failure leaves the old file as it is.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

#include "base/status.h"
#include "store/unique_fd.h"

namespace tally::cli {

enum class Existing {
  Replace,
  Keep,  // renaming fails with EEXIST where the name is taken
};

// Paths are relative to the folder that is open as `folder` (AT_FDCWD: the current one). False:
// errno says why.
bool rename_file(int folder, const std::string& from, const std::string& to, Existing existing);

class PartialFile {
 public:
  // `path` is relative to `folder`, as of rename_file(). Its last component must not be a link that
  // should be kept. The error says only why.
  static Result<PartialFile> create(int folder, const std::string& path, mode_t mode = 0666);
  PartialFile(PartialFile&& other) noexcept;
  PartialFile& operator=(PartialFile&&) = delete;
  // Removes the temporary file unless finish() succeeded.
  ~PartialFile();

  // After an error, writes nothing more; finish() reports it.
  void write(std::string_view piece);
  // Waits until the disk has the text, and gives the file its name. Returns 0 or errno.
  int finish(Existing existing);
  int descriptor() const { return file_.get(); }

 private:
  PartialFile(int folder, std::string path, std::string temporary, store::UniqueFd file)
      : folder_(folder),
        path_(std::move(path)),
        temporary_(std::move(temporary)),
        file_(std::move(file)) {}
  void flush();

  int folder_;
  std::string path_;
  std::string temporary_;  // empty: there is none
  store::UniqueFd file_;
  std::string buffer_;
  int error_ = 0;  // errno of the first failed write
};

// "scene.frag.3f09ab": a name in the same folder that no file is likely to have.
std::string temporary_name(const std::string& path);

// Appends all of the text. False: errno says why.
bool write_all(int file, std::string_view text);

}  // namespace tally::cli
