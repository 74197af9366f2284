#include "analysis/source/missing_texts.h"

#include <set>
#include <utility>

#include "spirv/analysis/line_directives.h"

namespace tally::analysis {

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
