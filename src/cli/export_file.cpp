#include "cli/export_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>

#include "cli/files.h"

namespace tally::cli {
namespace {

namespace fs = std::filesystem;

Error failure(const std::string& path, int number) {
  return Error{fmt::format("{}: {}", path.empty() ? "cannot write to standard output" : path,
                           std::strerror(number))};
}

// A file that must not be replaced, even with --force.
Status may_replace(const std::string& path, const std::string& capture) {
  std::error_code ignored;
  if (!fs::exists(path, ignored)) return {};
  if (!fs::is_regular_file(path, ignored))
    return Error{path + " is not a regular file; use -o - for standard output"};
  if (fs::equivalent(path, capture, ignored)) return Error{path + " is the capture itself"};
  return {};
}

}  // namespace

Result<ExportFile> ExportFile::open(const std::string& path, const std::string& capture,
                                    bool force) {
  if (path.empty() || path == "-") return ExportFile();
  if (force) {
    if (Status allowed = may_replace(path, capture); !allowed) return allowed.error();
  }
  const auto chosen = choose_output(path, {}, force);
  if (!chosen) return chosen.error();
  auto file = PartialFile::create(AT_FDCWD, path, 0644);
  if (file) return ExportFile(path, std::move(*file), !force);
  if (!force) ::unlink(path.c_str());
  return with_context(file.error(), path);
}

ExportFile::ExportFile(ExportFile&& other) noexcept
    : path_(std::move(other.path_)),
      file_(std::move(other.file_)),
      is_reserved_(std::exchange(other.is_reserved_, false)),
      error_(other.error_) {}

ExportFile::~ExportFile() {
  if (is_reserved_) ::unlink(path_.c_str());
}

void ExportFile::write(std::string_view piece) {
  if (file_) return file_->write(piece);
  if (error_ == 0 && std::fwrite(piece.data(), 1, piece.size(), stdout) != piece.size())
    error_ = errno;
}

Status ExportFile::finish() {
  if (file_) error_ = file_->finish(Existing::Replace);
  if (!file_ && error_ == 0 && std::fflush(stdout) != 0) error_ = errno;
  if (error_ != 0) return failure(path_, error_);
  is_reserved_ = false;
  return {};
}

bool ExportFile::is_terminal() const { return !file_ && ::isatty(STDOUT_FILENO) != 0; }

}  // namespace tally::cli
