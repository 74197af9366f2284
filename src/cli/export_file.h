// The file that `tally export` writes: standard output, or a file that appears under its name only
// when it is complete.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "cli/files.h"

namespace tally::cli {

class ExportFile {
 public:
  // `path` is "" or "-" for standard output. Without `force` the file must not exist; with it, a
  // regular file other than `capture` is replaced.
  static Result<ExportFile> open(const std::string& path, const std::string& capture, bool force);
  ExportFile(ExportFile&& other) noexcept;
  ExportFile& operator=(ExportFile&&) = delete;
  // Removes the file unless finish() succeeded.
  ~ExportFile();

  // After an error, writes nothing more; finish() reports it.
  void write(std::string_view piece);
  Status finish();
  bool is_terminal() const;

 private:
  ExportFile() = default;
  ExportFile(std::string path, PartialFile file, bool is_reserved)
      : path_(std::move(path)), file_(std::move(file)), is_reserved_(is_reserved) {}

  std::string path_;
  std::optional<PartialFile> file_;  // none: standard output
  bool is_reserved_ = false;         // `path_` is an empty file of ours
  int error_ = 0;                    // errno of the first failed write to standard output
};

}  // namespace tally::cli
