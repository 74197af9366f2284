#include "analysis/source/shader_source.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <utility>

#include "analysis/model/names.h"
#include "analysis/source/reconstruct.h"
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

constexpr size_t kNamesInNote = 3;

bool has_lines(const spirv::BlockMap& map) {
  return std::ranges::any_of(map.blocks(),
                             [](const spirv::Block& block) { return block.line_count != 0; });
}

// "a, b, c and 4 more"
std::string some_of(const std::vector<std::string>& names) {
  const size_t shown = std::min(names.size(), kNamesInNote);
  std::string text = fmt::format("{}", fmt::join(names.begin(), names.begin() + shown, ", "));
  if (names.size() > shown) text += fmt::format(" and {} more", names.size() - shown);
  return text;
}

void add_once(std::vector<std::string>& names, std::string name) {
  if (std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
}

}  // namespace

std::string_view origin_name(SourceOrigin origin) {
  constexpr std::string_view kNames[] = {"debug", "file", "reconstructed", "spirv"};
  return kNames[static_cast<size_t>(origin)];
}

std::string ShaderSource::file_title(uint32_t file) const {
  return analysis::file_title(map(), file);
}

const std::string& ShaderSource::text(const spirv::SourceLocation& location) const {
  static const std::string kUnknown, kNotAvailable(spirv::kNoText);
  if (location.file >= files_.size() || location.line == 0) return kUnknown;
  const auto& lines = files_[location.file].lines;
  if (location.line <= lines.size()) return lines[location.line - 1];
  return lines.empty() ? kUnknown : kNotAvailable;
}

ShaderSources::ShaderSources(const Model& model, ShaderCodes& codes, SourceOptions options)
    : model_(model), codes_(codes), options_(std::move(options)), sources_(model.shaders.size()) {
  // Without the table there are fewer texts; a damaged file shows elsewhere.
  if (auto texts = stored_texts(model)) stored_texts_ = std::move(*texts);
}

const ShaderSource& ShaderSources::of(uint32_t shader) {
  auto& source = sources_[shader];
  if (source == nullptr) source = std::make_unique<ShaderSource>(make(shader, *codes_.of(shader)));
  return *source;
}

ShaderSource ShaderSources::make(uint32_t shader, const ShaderCode& code) {
  ShaderSource source;
  source.code_map_ = &code.map;
  const SourceChoice choice = options_.choice;
  if (choice == SourceChoice::Spirv) return source;
  if (choice != SourceChoice::Glsl && has_lines(code.map)) {
    add_files(source, code.map);
    const auto file = std::ranges::find_if(
        source.files_, [](const SourceFileText& f) { return !f.lines.empty(); });
    const bool has_text = file != source.files_.end();
    if (has_text || choice == SourceChoice::Debug)
      source.origin_ = has_text ? file->origin : SourceOrigin::Debug;
  }
  if (source.has_lines() || choice == SourceChoice::Debug) return source;
  source.files_.clear();
  add_reconstruction(source, shader, code);
  return source;
}

void ShaderSources::add_files(ShaderSource& source, const spirv::BlockMap& map) {
  const std::vector<bool> has_code = files_with_code(map);
  for (uint32_t i = 0; i < map.files().size(); ++i) {
    const spirv::SourceFile& file = map.files()[i];
    SourceFileText& added = source.files_.emplace_back(
        SourceFileText{file.name, lines_of_text(file.text), SourceOrigin::Debug});
    if (added.lines.empty() && has_code[i]) add_text_from_outside(map, i, added);
  }
}

void ShaderSources::add_text_from_outside(const spirv::BlockMap& map, uint32_t file,
                                          SourceFileText& added) {
  const auto add = [&](const std::string& text) {
    added.lines = lines_of_text(numbered_text(map, file, text));
    added.origin = SourceOrigin::File;
  };
  if (const auto stored = stored_texts_.find(added.name); stored != stored_texts_.end())
    return add(stored->second);
  const auto match = options_.folder ? options_.folder->find(added.name) : std::nullopt;
  if (match && match->candidates.empty()) {
    add(match->text);
  } else if (match) {
    add_once(ambiguous_files_,
             fmt::format("{} ({})", added.name, fmt::join(match->candidates, ", ")));
  } else {
    add_once(missing_files_, added.name);
  }
}

void ShaderSources::add_reconstruction(ShaderSource& source, uint32_t shader,
                                       const ShaderCode& code) {
  const spirv::EntryPoint* entry = code.entry(model_.shaders[shader].entry_point);
  const std::string name = model_.shader_names[shader] + ":glsl";
  auto made = entry == nullptr ? Result<Reconstruction>(Error{"its entry point is unknown"})
                               : reconstruct(code.module, *entry, name);
  if (!made) {
    source.why_not_ = made.error().message;
    not_reconstructed_.push_back(
        fmt::format("{}: {}", model_.shader_names[shader], made.error().message));
    return;
  }
  ++reconstructed_;
  source.origin_ = SourceOrigin::Reconstructed;
  source.own_map_ = std::move(made->map);
  source.files_.push_back({name, std::move(made->lines), SourceOrigin::Reconstructed});
}

std::string ShaderSources::note_of_spirv() const {
  if (not_reconstructed_.empty()) return {};
  return fmt::format("{} shader(s) cannot be reconstructed as GLSL and are shown as SPIR-V ({}).",
                     not_reconstructed_.size(), some_of(not_reconstructed_));
}

std::vector<std::string> ShaderSources::notes() const {
  std::vector<std::string> notes;
  if (reconstructed_ != 0) {
    notes.push_back(fmt::format(
        "{} shader(s) {}are shown as GLSL that SPIRV-Cross reconstructed from their SPIR-V; it is "
        "not the application's text. --source spirv shows the instructions.",
        reconstructed_, options_.choice == SourceChoice::Glsl ? "" : "have no source and "));
  }
  if (std::string note = note_of_spirv(); !note.empty()) notes.push_back(std::move(note));
  if (!missing_files_.empty()) {
    notes.push_back(fmt::format(
        "The text of {} source file(s) is neither in the capture nor found ({}); --sources FOLDER "
        "names where they are, --source debug shows their line numbers alone.",
        missing_files_.size(), some_of(missing_files_)));
  }
  if (!ambiguous_files_.empty()) {
    notes.push_back(
        fmt::format("The folder of --sources has several files for {}; it is not shown.",
                    some_of(ambiguous_files_)));
  }
  return notes;
}

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
  auto stored = TALLY_TRY(store::source_texts(model.reader));
  std::map<std::string, std::string> texts;
  for (store::SourceText& source : stored)
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
