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

#include "cli/partial_file.h"
#include "store/unique_fd.h"

namespace tally::cli {
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

// Follows no links: a folder that the user gave may hold some that lead elsewhere.
Result<store::UniqueFd> open_folder(int parent, const std::string& name, const std::string& path) {
  if (::mkdirat(parent, name.c_str(), 0777) != 0 && errno != EEXIST) return system_error(path);
  store::UniqueFd folder(
      ::openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder) return system_error(path);
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

Status write_new(int folder, const std::string& name, const std::string& path,
                 std::string_view text) {
  auto file = PartialFile::create(folder, name);
  if (!file) return with_context(file.error(), path);
  file->write(text);
  const int error = file->finish(Existing::Keep);
  if (error == 0) return {};
  if (error != EEXIST) return Error{path + ": " + std::strerror(error)};
  const store::UniqueFd existing(
      ::openat(folder, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
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
  store::UniqueFd at(::open(root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!at) return system_error(folder);
  const std::vector<std::string> parts = safe_components(name);
  std::filesystem::path path = root;
  for (size_t i = 0; i + 1 < parts.size(); ++i) {
    path /= parts[i];
    auto next = open_folder(at.get(), parts[i], path.string());
    if (!next) return next.error();
    at = std::move(*next);
  }
  path /= parts.back();
  if (Status written = write_new(at.get(), parts.back(), path.string(), text); !written)
    return written.error();
  return path.string();
}

}  // namespace tally::cli
