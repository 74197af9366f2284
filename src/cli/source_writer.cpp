#include "cli/source_writer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>
#include <vector>

namespace tally::cli {
namespace {

constexpr size_t kMaxComponents = 32;
constexpr size_t kMaxLength = 120;  // of a component

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  int number() const { return number_; }
  bool ok() const { return number_ >= 0; }

 private:
  int number_;
};

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

// Follows no links: a folder that the user gave may hold some that lead elsewhere.
Result<Descriptor> open_folder(int parent, const std::string& name, const std::string& path) {
  if (::mkdirat(parent, name.c_str(), 0777) != 0 && errno != EEXIST) return system_error(path);
  Descriptor folder(
      ::openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder.ok()) return system_error(path);
  return folder;
}

bool has_text(int file, std::string_view text) {
  struct stat info {};
  if (::fstat(file, &info) != 0 || !S_ISREG(info.st_mode)) return false;
  if (static_cast<uint64_t>(info.st_size) != text.size()) return false;
  std::array<char, 65536> buffer;
  while (!text.empty()) {
    const ssize_t size = ::read(file, buffer.data(), std::min(buffer.size(), text.size()));
    if (size <= 0 || text.substr(0, static_cast<size_t>(size)) !=
                         std::string_view(buffer.data(), static_cast<size_t>(size))) {
      return false;
    }
    text.remove_prefix(static_cast<size_t>(size));
  }
  return true;
}

bool write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    text.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

Status write_new(int folder, const std::string& name, const std::string& path,
                 std::string_view text) {
  const Descriptor file(
      ::openat(folder, name.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, 0666));
  if (file.ok()) {
    if (write_all(file.number(), text)) return {};
    const Error error = system_error(path);
    ::unlinkat(folder, name.c_str(), 0);
    return error;
  }
  if (errno != EEXIST) return system_error(path);
  const Descriptor existing(
      ::openat(folder, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (existing.ok() && has_text(existing.number(), text)) return {};
  return Error{path + ": exists with another text; it is left as it is"};
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
  Descriptor at(::open(root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!at.ok()) return system_error(folder);
  const std::vector<std::string> parts = safe_components(name);
  std::filesystem::path path = root;
  for (size_t i = 0; i + 1 < parts.size(); ++i) {
    path /= parts[i];
    auto next = open_folder(at.number(), parts[i], path.string());
    if (!next) return next.error();
    at = std::move(*next);
  }
  path /= parts.back();
  if (Status written = write_new(at.number(), parts.back(), path.string(), text); !written)
    return written.error();
  return path.string();
}

}  // namespace tally::cli
