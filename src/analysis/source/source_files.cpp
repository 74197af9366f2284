#include "analysis/source/source_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <utility>

#include "spirv/analysis/source_info.h"

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
    folder.by_title_.emplace(title, at->path().lexically_relative(path).generic_string());
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

Result<std::map<std::string, std::string>> stored_texts(const Model& model) {
  auto stored = store::source_texts(model.reader);
  if (!stored) return stored.error();
  std::map<std::string, std::string> texts;
  for (store::SourceText& source : *stored)
    texts.emplace(std::move(source.name), std::move(source.text));
  return texts;
}

std::vector<bool> files_with_code(const spirv::BlockMap& map) {
  std::vector<bool> has_code(map.files().size());
  for (const spirv::Block& block : map.blocks()) {
    for (const spirv::LineCost& line : map.lines_of(block)) {
      if (line.location.file < has_code.size()) has_code[line.location.file] = true;
    }
  }
  return has_code;
}

std::string numbered_text(const spirv::BlockMap& map, uint32_t file, std::string text) {
  std::vector<spirv::SourceLocation> code;
  for (const spirv::Block& block : map.blocks()) {
    for (const spirv::LineCost& line : map.lines_of(block)) {
      if (line.location.file == file) code.push_back({0, line.location.line});
    }
  }
  std::vector<spirv::SourceFile> files = {{map.files()[file].name, std::move(text)}};
  spirv::number_lines(files, code);
  return std::move(files[0].text);
}

FoundTexts find_texts(const Model& model, const SourceFolder& folder) {
  FoundTexts found;
  ShaderCodes codes(model);
  std::set<std::string> names;
  for (uint32_t shader = 0; shader < model.shaders.size(); ++shader) {
    const auto& code = codes.of(shader);
    if (!code.ok()) continue;
    const std::vector<bool> has_code = files_with_code(code->map);
    for (size_t i = 0; i < has_code.size(); ++i) {
      const spirv::SourceFile& file = code->map.files()[i];
      if (!has_code[i] || !file.text.empty() || !names.insert(file.name).second) continue;
      auto match = folder.find(file.name);
      if (!match) {
        found.missing.push_back(file.name);
      } else if (!match->candidates.empty()) {
        found.ambiguous.push_back(file.name);
      } else {
        found.texts.push_back({file.name, std::move(match->text)});
      }
    }
  }
  return found;
}

}  // namespace tally::analysis
