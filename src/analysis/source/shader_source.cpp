#include "analysis/source/shader_source.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "analysis/model/names.h"
#include "analysis/source/reconstruct.h"
#include "analysis/source/source_files.h"
#include "spirv/analysis/source_info.h"

namespace tally::analysis {
namespace {

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

}  // namespace tally::analysis
