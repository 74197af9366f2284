#include "cli/files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <random>
#include <utility>
#include <vector>

#include "cli/command.h"
#include "platform/process.h"
#include "report/table/display_text.h"

namespace tally::cli {
namespace fs = std::filesystem;

using platform::Existing;
using platform::Folder;

Status replace_file(const std::string& path, const std::string& text) {
  std::error_code ignored;
  if (fs::exists(path, ignored) && !fs::is_regular_file(path, ignored))
    return Error{path + ": not a regular file"};
  // A symbolic link stays one.
  const fs::path target =
      fs::is_symlink(path, ignored) ? fs::canonical(path, ignored) : fs::path(path);
  if (target.empty()) return Error{path + ": broken symbolic link"};
  auto file =
      TALLY_TRY(with_context(PartialFile::create(Folder::current(), target.string()), path));
  platform::copy_permissions(path, file.descriptor());
  file.write(text);
  const int error = file.finish(Existing::Replace);
  return error == 0 ? Status() : Error{path + ": " + std::strerror(error)};
}

namespace {

constexpr size_t kBufferSize = size_t{64} << 10;
constexpr int kMaxTries = 100;

}  // namespace

std::string temporary_name(const std::string& path) {
  std::random_device random;
  return fmt::format("{}.{:08x}", path, random());
}

Result<PartialFile> PartialFile::create(const Folder& folder, const std::string& path,
                                        unsigned mode) {
  for (int i = 0; i < kMaxTries; ++i) {
    std::string temporary = temporary_name(path);
    UniqueFd file(folder.create_file(temporary, mode));
    if (file) return PartialFile(folder, path, std::move(temporary), std::move(file));
    if (errno != EEXIST) break;
  }
  return Error{std::strerror(errno)};
}

PartialFile::PartialFile(PartialFile&& other) noexcept
    : folder_(other.folder_),
      path_(std::move(other.path_)),
      temporary_(std::exchange(other.temporary_, {})),
      file_(std::move(other.file_)),
      buffer_(std::move(other.buffer_)),
      error_(other.error_) {}

PartialFile::~PartialFile() {
  file_ = {};  // Windows removes no open file
  if (!temporary_.empty()) folder_->remove_file(temporary_);
}

void PartialFile::write(std::string_view piece) {
  buffer_ += piece;
  if (buffer_.size() >= kBufferSize) flush();
}

void PartialFile::flush() {
  if (error_ == 0 && !platform::write_all(file_.get(), buffer_)) error_ = errno;
  buffer_.clear();
}

int PartialFile::finish(Existing existing) {
  flush();
  if (error_ == 0 && !platform::write_to_disk(file_.get())) error_ = errno;
  file_ = {};  // Windows renames no open file
  if (error_ == 0 && !folder_->rename_file(temporary_, path_, existing)) error_ = errno;
  if (error_ == 0) temporary_.clear();
  return error_;
}

namespace {

constexpr int kMaxNumbers = 10'000;

// Creates the file unless it exists, so that processes never share a name. Returns whether
// it was created.
Result<bool> take(const std::string& path) {
  const UniqueFd file(Folder::current().create_file(path, 0644));
  if (!file && errno != EEXIST) return Error{path + ": " + std::strerror(errno)};
  return static_cast<bool>(file);
}

}  // namespace

Result<std::string> choose_output(const std::string& asked, const std::string& application,
                                  bool force) {
  std::string stem = fs::path(application).filename().string();
  if (stem.empty()) stem = "capture";
  const std::string plain = asked.empty() ? stem + ".tally" : asked;
  if (force) return plain;
  const auto taken = TALLY_TRY(take(plain));
  if (taken) return plain;
  if (!asked.empty()) {
    return Error{fmt::format("{} exists; choose another name, or replace it with --force", asked)};
  }
  for (int number = 2; number < kMaxNumbers; ++number) {
    std::string numbered = fmt::format("{}-{}.tally", stem, number);
    const auto made = TALLY_TRY(take(numbered));
    if (made) return numbered;
  }
  return Error{
      fmt::format("{}.tally and its numbered names all exist; choose a name with -o", stem)};
}

namespace {

// The absolute path as an address (RFC 8089), which terminals make a link of.
std::string address_of(const std::string& path) {
  std::error_code ignored;
  const std::string absolute = fs::absolute(path, ignored).lexically_normal().generic_string();
  std::string address = absolute.starts_with('/') ? "file://" : "file:///";  // before a drive
  for (const char c : absolute) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = byte < 0x80 && (std::isalnum(byte) != 0 || std::strchr("/-._~:", c));
    address += plain ? std::string(1, c) : fmt::format("%{:02X}", byte);
  }
  return address;
}

}  // namespace

std::string written_line(const std::string& what, const std::string& path) {
  std::error_code ignored;
  const auto size = fs::file_size(path, ignored);
  return fmt::format("{}: {} ({}), {}", what, path,
                     report::bytes_text(ignored ? 0 : static_cast<double>(size)), address_of(path));
}

void say_written(const std::string& what, const std::string& path) {
  say(written_line(what, path));
}

namespace {

Error failure(const std::string& path, int number) {
  return Error{fmt::format("{}: {}", path.empty() ? "cannot write to standard output" : path,
                           std::strerror(number))};
}

// A file that must not be replaced, even with --force.
Status may_replace(const std::string& path, const std::string& capture) {
  std::error_code ignored;
  if (!fs::exists(path, ignored)) return {};
  if (!fs::is_regular_file(path, ignored)) return Error{path + " is not a regular file"};
  if (fs::equivalent(path, capture, ignored)) return Error{path + " is the capture itself"};
  return {};
}

}  // namespace

Result<ExportFile> ExportFile::open(const std::string& path, const std::string& capture,
                                    bool force) {
  if (path.empty() || path == "-") return ExportFile();
  if (force) TALLY_TRY(may_replace(path, capture));
  TALLY_TRY(choose_output(path, {}, force));
  auto file = PartialFile::create(Folder::current(), path, 0644);
  if (file) return ExportFile(path, std::move(*file), !force);
  if (!force) Folder::current().remove_file(path);
  return with_context(file.error(), path);
}

ExportFile::ExportFile(ExportFile&& other) noexcept
    : path_(std::move(other.path_)),
      file_(std::move(other.file_)),
      is_reserved_(std::exchange(other.is_reserved_, false)),
      error_(other.error_) {}

ExportFile::~ExportFile() {
  if (is_reserved_) Folder::current().remove_file(path_);
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

void ExportFile::say_written(const std::string& what) const {
  if (file_) cli::say_written(what, path_);
}

bool ExportFile::is_terminal() const { return !file_ && platform::is_terminal(stdout); }

namespace {

constexpr const char* kPrefix = "tally-run-";

// Absolute: the application finds the socket there from any working directory.
Result<fs::path> parent_folder() {
  const std::string chosen = platform::temporary_folder();
  std::error_code error;
  const fs::path folder = fs::absolute(chosen, error);
  if (error) return Error{fmt::format("TMPDIR={}: {}", chosen, error.message())};
  return folder;
}

void remove_abandoned_folders(const fs::path& parent, const std::string& prefix, bool is_private) {
  std::error_code error;
  for (fs::directory_iterator entry(parent, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (!name.starts_with(prefix) || name.size() != prefix.size() + platform::kRandomCharacters)
      continue;
    std::error_code ignored;
    // Held while the folder is removed: its owner may be about to lock it.
    const auto lock = platform::FolderLock::take(entry->path().string(), is_private);
    if (lock) fs::remove_all(entry->path(), ignored);
  }
}

}  // namespace

Result<TemporaryFolder> TemporaryFolder::make() {
  const auto parent = TALLY_TRY(parent_folder());
  return make(parent, kPrefix, true);
}

Result<TemporaryFolder> TemporaryFolder::make_in(const fs::path& parent,
                                                 const std::string& prefix) {
  return make(parent, prefix, false);
}

Result<TemporaryFolder> TemporaryFolder::make(const fs::path& parent, const std::string& prefix,
                                              bool is_private) {
  remove_abandoned_folders(parent, prefix, is_private);
  constexpr int kMaxFolders = 10;
  for (int i = 0; i < kMaxFolders; ++i) {
    const auto path = platform::make_unique_folder((parent / prefix).string());
    if (!path) {
      return Error{fmt::format("cannot create a folder in {}{}: {}", parent.string(),
                               is_private ? " (TMPDIR)" : "", std::strerror(errno))};
    }
    // Before we lock it, another process may consider the folder abandoned and remove it.
    auto lock = platform::FolderLock::take(*path, is_private);
    std::error_code ignored;
    if (!is_private && lock && !lock->share_folder()) {
      const int error = errno;
      fs::remove(*path, ignored);
      return Error{fmt::format("{}: {}", *path, std::strerror(error))};
    }
    if (lock && fs::exists(*path, ignored)) return TemporaryFolder(*path, std::move(*lock));
  }
  return Error{
      fmt::format("cannot create a folder in {}: other processes remove it", parent.string())};
}

TemporaryFolder::TemporaryFolder(fs::path path, platform::FolderLock lock)
    : path_(std::move(path)), lock_(std::move(lock)) {}

TemporaryFolder::TemporaryFolder(TemporaryFolder&& other) noexcept
    : path_(std::exchange(other.path_, {})), lock_(std::move(other.lock_)) {}

int TemporaryFolder::rename_to(const fs::path& path) {
  std::error_code error;
  fs::rename(path_, path, error);
  if (error) return error.default_error_condition().value();
  path_.clear();
  return 0;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

namespace {

constexpr size_t kMaxComponents = 32;
constexpr size_t kMaxLength = 120;  // of a component

std::string safe_component(std::string_view part) {
  std::string safe;
  for (const char c : part.substr(0, kMaxLength)) {
    const auto byte = static_cast<unsigned char>(c);
    safe += byte < 0x20 || byte == 0x7f || c == ':' ? '_' : c;
  }
  return safe;
}

std::vector<std::string> safe_components(std::string_view name) {
  std::vector<std::string> parts;
  while (!name.empty()) {
    const size_t slash = std::min(name.find_first_of("/\\"), name.size());
    const std::string_view part = name.substr(0, slash);
    name.remove_prefix(std::min(slash + 1, name.size()));
    if (!part.empty() && part != "." && part != "..") parts.push_back(safe_component(part));
  }
  if (parts.empty()) parts.emplace_back("unnamed");
  if (parts.size() > kMaxComponents)
    parts.erase(parts.begin(), parts.end() - static_cast<std::ptrdiff_t>(kMaxComponents));
  return parts;
}

Error system_error(const std::string& path) {
  return Error{fmt::format("{}: {}", path, std::strerror(errno))};
}

bool has_text(int file, std::string_view text) {
  if (platform::size_of_regular_file(file) != text.size()) return false;
  std::array<char, 65536> buffer;
  for (size_t at = 0; at < text.size();) {
    const std::string_view piece = text.substr(at, buffer.size());
    const ssize_t size = platform::read_at(file, buffer.data(), piece.size(), at);
    if (size != static_cast<ssize_t>(piece.size()) ||
        piece != std::string_view(buffer.data(), piece.size())) {
      return false;
    }
    at += piece.size();
  }
  return true;
}

// Follows no links: a folder that the user gave may hold some that lead elsewhere.
Status write_new(const platform::Folder& folder, const std::string& name, const std::string& path,
                 std::string_view text) {
  auto file = TALLY_TRY(with_context(PartialFile::create(folder, name), path));
  file.write(text);
  const int error = file.finish(platform::Existing::Keep);
  if (error == 0) return {};
  if (error != EEXIST) return Error{path + ": " + std::strerror(error)};
  const UniqueFd existing(folder.open_to_read(name));
  if (existing && has_text(existing.get(), text)) return {};
  return Error{path + ": exists with another text; refusing to replace it"};
}

}  // namespace

std::string safe_relative_path(std::string_view name) {
  return fmt::format("{}", fmt::join(safe_components(name), "/"));
}

Result<std::string> write_source(const std::string& folder, std::string_view name,
                                 std::string_view text) {
  std::error_code error;
  const std::filesystem::path root = std::filesystem::absolute(folder, error).lexically_normal();
  std::filesystem::create_directories(root, error);
  if (error) return Error{fmt::format("{}: {}", folder, error.message())};
  std::optional<platform::Folder> at = platform::Folder::open(root.string());
  if (!at) return system_error(folder);
  const std::vector<std::string> parts = safe_components(name);
  std::filesystem::path path = root;
  for (size_t i = 0; i + 1 < parts.size(); ++i) {
    path /= parts[i];
    std::optional<platform::Folder> next = at->make_folder(parts[i]);
    if (!next) return system_error(path.string());
    at = std::move(next);
  }
  path /= parts.back();
  TALLY_TRY(write_new(*at, parts.back(), path.string(), text));
  return path.string();
}

}  // namespace tally::cli
