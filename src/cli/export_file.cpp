#include "cli/export_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

#include "cli/output_file.h"

namespace tally::cli {
namespace {

namespace fs = std::filesystem;

Error failure(const std::string& path, int number) {
  return Error{fmt::format("{}: {}", path.empty() ? "cannot write to standard output" : path,
                           std::strerror(number))};
}

// What must not be replaced, even with --force.
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
  if (path.empty() || path == "-") return ExportFile(stdout, {}, {}, false);
  if (force) {
    if (Status allowed = may_replace(path, capture); !allowed) return allowed.error();
  }
  const auto chosen = choose_output(path, {}, force);
  if (!chosen) return chosen.error();
  std::string partial = path + ".XXXXXX";
  const int descriptor = ::mkostemp(partial.data(), O_CLOEXEC);
  std::FILE* file = descriptor < 0 ? nullptr : ::fdopen(descriptor, "wb");
  if (file == nullptr) {
    const int number = errno;
    if (!force) ::unlink(path.c_str());
    return failure(path, number);
  }
  ::fchmod(descriptor, 0644);
  return ExportFile(file, path, partial, !force);
}

ExportFile::ExportFile(ExportFile&& other) noexcept
    : file_(std::exchange(other.file_, nullptr)),
      path_(std::move(other.path_)),
      partial_(std::move(other.partial_)),
      is_reserved_(std::exchange(other.is_reserved_, false)),
      error_(other.error_) {}

ExportFile::~ExportFile() {
  if (file_ == nullptr || path_.empty()) return;
  std::fclose(file_);
  ::unlink(partial_.c_str());
  if (is_reserved_) ::unlink(path_.c_str());
}

void ExportFile::write(std::string_view piece) {
  if (error_ == 0 && std::fwrite(piece.data(), 1, piece.size(), file_) != piece.size())
    error_ = errno;
}

Status ExportFile::finish() {
  if (error_ == 0 && std::fflush(file_) != 0) error_ = errno;
  if (error_ == 0 && !path_.empty() && std::rename(partial_.c_str(), path_.c_str()) != 0)
    error_ = errno;
  if (error_ != 0) return failure(path_, error_);
  if (!path_.empty()) std::fclose(file_);
  file_ = nullptr;
  return {};
}

bool ExportFile::is_terminal() const { return ::isatty(::fileno(file_)) != 0; }

}  // namespace tally::cli
