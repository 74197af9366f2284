#include "analysis/source/source_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace tally::analysis {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxFiles = 200'000;
constexpr std::uintmax_t kMaxBytes = 16 << 20;

// The components of a path with either separator, from the last, without "." and a drive's letter.
std::vector<std::string_view> components_from_end(std::string_view path) {
  std::vector<std::string_view> parts;
  while (!path.empty()) {
    const size_t slash = path.find_last_of("/\\");
    const size_t begin = slash == std::string_view::npos ? 0 : slash + 1;
    const std::string_view part = path.substr(begin);
    if (!part.empty() && part != "." && !part.ends_with(':')) parts.push_back(part);
    path = path.substr(0, begin == 0 ? 0 : slash);
  }
  return parts;
}

size_t shared_components(std::string_view a, std::string_view b) {
  const auto as = components_from_end(a), bs = components_from_end(b);
  const auto first_difference = std::mismatch(as.begin(), as.end(), bs.begin(), bs.end());
  return static_cast<size_t>(first_difference.first - as.begin());
}

std::optional<std::string> read_text(const fs::path& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error) || fs::file_size(path, error) > kMaxBytes || error)
    return std::nullopt;
  std::ifstream in(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  if (!in.good() && !in.eof()) return std::nullopt;
  return text;
}

}  // namespace

Result<SourceFolder> SourceFolder::open(const std::string& path) {
  SourceFolder folder;
  folder.path_ = path;
  std::error_code error;
  fs::recursive_directory_iterator at(path, fs::directory_options::skip_permission_denied, error);
  if (error) return Error{fmt::format("{}: {}", path, error.message())};
  for (; at != fs::recursive_directory_iterator(); at.increment(error)) {
    if (error) return Error{fmt::format("{}: {}", path, error.message())};
    std::error_code ignored;
    const std::string title = at->path().filename().string();
    if (at->is_directory(ignored)) {
      if (title.starts_with('.')) at.disable_recursion_pending();
      continue;
    }
    if (!at->is_regular_file(ignored)) continue;
    if (folder.by_title_.size() == kMaxFiles)
      return Error{fmt::format("{}: more than {} files", path, kMaxFiles)};
    folder.by_title_.emplace(title, at->path().lexically_relative(path).string());
  }
  return folder;
}

std::optional<SourceFolder::Match> SourceFolder::find(std::string_view name) const {
  const auto parts = components_from_end(name);
  if (parts.empty()) return std::nullopt;
  std::vector<std::string> best;
  size_t most = 1;
  const auto [begin, end] = by_title_.equal_range(std::string(parts.front()));
  for (auto file = begin; file != end; ++file) {
    const size_t shared = shared_components(name, file->second);
    if (shared > most) best.clear();
    if (shared >= most) best.push_back(file->second);
    most = std::max(most, shared);
  }
  if (best.empty()) return std::nullopt;
  if (best.size() > 1) {
    std::sort(best.begin(), best.end());
    return Match{{}, std::move(best)};
  }
  auto text = read_text(fs::path(path_) / best.front());
  if (!text) return std::nullopt;
  return Match{std::move(*text), {}};
}

}  // namespace tally::analysis
