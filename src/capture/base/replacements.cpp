#include "capture/base/replacements.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "base/file.h"
#include "capture/base/capture_settings.h"
#include "catalogue/catalogue.h"
#include "spirv/analysis/block_map.h"
#include "spirv/analysis/substitution.h"
#include "spirv/ir/editor.h"
#include "spirv/ir/module.h"

namespace tally::capture {
namespace {

constexpr size_t kMaxEntries = 256;
constexpr size_t kShortHash = 8;

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const size_t end = std::min(text.find(separator), text.size());
    parts.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

Result<Replacements::Words> read_words(const std::string& path) {
  const std::string bytes = TALLY_TRY(read_small_file(path, stream::kMaxModuleBytes));
  auto words = std::make_shared<std::vector<uint32_t>>(bytes.size() / sizeof(uint32_t));
  if (!words->empty()) std::memcpy(words->data(), bytes.data(), words->size() * sizeof(uint32_t));
  return Replacements::Words(std::move(words));
}

bool matches(const std::string& pattern, const NamedShader& shader) {
  const auto is = [&](const std::string& name) {
    return !name.empty() && matches_pattern(pattern, name);
  };
  return is(shader.name) || is(shader.source) || is(shader.entry_point) ||
         matches_hash(pattern, to_string(shader.hash));
}

bool has_debug_information(const spirv::Module& module) {
  return module.has_extension("SPV_KHR_non_semantic_info");
}

// The entry point of the stage with this name, else the only one of the stage.
const spirv::EntryPoint* entry_point_of(const spirv::Module& module, spv::ExecutionModel model,
                                        const std::string& name) {
  if (const auto* named = module.find_entry_point(model, name)) return named;
  const spirv::EntryPoint* only = nullptr;
  for (const spirv::EntryPoint& entry : module.entry_points()) {
    if (entry.model != model) continue;
    if (only) return nullptr;
    only = &entry;
  }
  return only;
}

// How unlike the original a candidate is, the worst difference first.
auto unlikeness(const spirv::Module& original, const spirv::Module& candidate) {
  const bool is_newer = candidate.version() > original.version();
  const uint32_t distance = is_newer ? candidate.version() - original.version()
                                     : original.version() - candidate.version();
  return std::tuple(has_debug_information(original) != has_debug_information(candidate), is_newer,
                    distance);
}

// The path of the original's main file; empty if debug information does not tell.
std::string source_path(const spirv::Module& module, const spirv::EntryPoint& entry) {
  const auto map = spirv::BlockMap::build(module, entry.model, entry.name);
  if (!map) return {};
  const std::string title = map->source_name();
  for (const spirv::SourceFile& file : map->files()) {
    if (!title.empty() && file.name.ends_with(title)) return file.name;
  }
  return {};
}

// The replacement with the names of the original's entry point and source file, so that reports
// and differences show the one in the place of the other.
std::vector<uint32_t> with_names_of(const spirv::Module& original,
                                    const spirv::EntryPoint& original_entry,
                                    const spirv::Module& replacement,
                                    const spirv::EntryPoint& entry, const std::string& file) {
  std::vector<uint32_t> words =
      spirv::with_entry_point_name(replacement, entry, original_entry.name);
  const std::string path = source_path(original, original_entry);
  const auto renamed = spirv::Module::parse(words);
  return path.empty() || !renamed ? words : spirv::with_string(*renamed, file, path);
}

}  // namespace

std::string NamedShader::title() const {
  if (!name.empty()) return name;
  return source.empty() ? to_string(hash).substr(0, kShortHash) : source;
}

Replacements::Replacements(const std::string& list) {
  if (list.empty()) return;
  const auto text = read_small_file(list);
  if (!text) {
    problem_ = text.error().message;
    return;
  }
  for (const std::string& line : split(*text, '\n')) {
    const std::vector<std::string> fields = split(line, '\t');
    if (fields.size() < 3 || entries_.size() == kMaxEntries) {
      problem_ = list + ": not a list of replacements";
      return;
    }
    Entry entry{.match = fields[0], .pattern = fields[1], .file = fields[2], .candidates = {}};
    for (size_t i = 3; i < fields.size(); ++i) {
      auto words = read_words(fields[i]);
      if (words)
        entry.candidates.push_back(std::move(*words));
      else
        problem_ = words.error().message;
    }
    entries_.push_back(std::move(entry));
  }
}

Replacements::Words Replacements::find(const NamedShader& shader, std::span<const uint32_t> words,
                                       uint32_t max_version) {
  if (!any()) return nullptr;
  const std::lock_guard lock(mutex_);
  const Key key{shader.hash, shader.stage, shader.entry_point, shader.name};
  const auto known = decisions_.find(key);
  if (known != decisions_.end()) return known->second.words;
  return decisions_.emplace(key, decide(shader, words, max_version)).first->second.words;
}

Replacements::Decision Replacements::decide(const NamedShader& shader,
                                            std::span<const uint32_t> words, uint32_t max_version) {
  for (const Entry& entry : entries_) {
    if (!matches(entry.match, shader)) continue;
    std::string refusal;
    Words chosen = choose(entry, shader, words, max_version, refusal);
    if (!chosen && refusal.empty()) continue;  // of another stage
    report(entry, shader, chosen, refusal);
    if (chosen) return {std::move(chosen), &entry};
  }
  return {};
}

// Null without a refusal: the candidates have no entry point of the stage.
Replacements::Words Replacements::choose(const Entry& entry, const NamedShader& shader,
                                         std::span<const uint32_t> words, uint32_t max_version,
                                         std::string& refusal) const {
  const catalogue::Stage* stage = catalogue::find_stage(shader.stage);
  if (!stage) return nullptr;
  const auto model = static_cast<spv::ExecutionModel>(stage->execution_model);
  if (entry.candidates.empty()) {
    refusal = "the file cannot be used; `tally run` said why before the program started";
    return nullptr;
  }
  if (words.empty()) {
    refusal = "the SPIR-V of the original is not known";
    return nullptr;
  }
  const auto original = spirv::Module::parse(words);
  const auto* entry_point =
      original ? original->find_entry_point(model, shader.entry_point) : nullptr;
  if (!entry_point) {
    refusal = "the SPIR-V of the original cannot be read";
    return nullptr;
  }
  std::optional<spirv::Module> best;
  for (const Words& candidate : entry.candidates) {
    auto module = spirv::Module::parse(*candidate);
    if (!module || !entry_point_of(*module, model, shader.entry_point)) continue;
    if (!best || unlikeness(*original, *module) < unlikeness(*original, *best))
      best.emplace(std::move(*module));
  }
  if (!best) return nullptr;
  const spirv::EntryPoint& chosen = *entry_point_of(*best, model, shader.entry_point);
  refusal = spirv::why_not_interchangeable({*original, *entry_point}, {*best, chosen}, max_version);
  if (!refusal.empty()) return nullptr;
  return std::make_shared<const std::vector<uint32_t>>(
      with_names_of(*original, *entry_point, *best, chosen, entry.file));
}

void Replacements::report(const Entry& entry, const NamedShader& shader, const Words& words,
                          const std::string& refusal) {
  news_.push_back({.pattern = entry.pattern,
                   .file = entry.file,
                   .shader = shader.title(),
                   .stage = static_cast<uint32_t>(shader.stage),
                   .entry_point = shader.entry_point,
                   .hash = to_string(shader.hash),
                   .new_hash = words ? to_string(hash_words(*words)) : std::string(),
                   .refusal = refusal});
}

void Replacements::refuse(const NamedShader& shader, const std::string& reason) {
  const std::lock_guard lock(mutex_);
  const auto known = decisions_.find({shader.hash, shader.stage, shader.entry_point, shader.name});
  if (known == decisions_.end() || !known->second.words) return;
  report(*known->second.entry, shader, nullptr, reason);
  known->second = {};
}

std::vector<stream::Replacement> Replacements::take_news() {
  const std::lock_guard lock(mutex_);
  return std::exchange(news_, {});
}

}  // namespace tally::capture
