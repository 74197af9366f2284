// The file that `tally export` writes: standard output, or a file that appears under its name only
// when it is complete.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

#include "base/status.h"

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
  ExportFile(std::FILE* file, std::string path, std::string partial, bool reserved)
      : file_(file), path_(std::move(path)), partial_(std::move(partial)), is_reserved_(reserved) {}

  std::FILE* file_;
  std::string path_;     // empty: standard output
  std::string partial_;  // the file until it is complete
  bool is_reserved_;     // `path_` is an empty file of ours
  int error_ = 0;        // errno of the first failed write
};

}  // namespace tally::cli
