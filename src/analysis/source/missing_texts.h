// The source files of a capture that its debug information only names.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "analysis/model/shader_code.h"
#include "analysis/source/source_folder.h"
#include "store/source_texts.h"

namespace tally::analysis {

// The texts that the capture stores with the shaders, by name.
Result<std::map<std::string, std::string>> stored_texts(const Model& model);

struct FoundTexts {
  std::vector<store::SourceText> texts;
  std::vector<std::string> missing;    // names without a file in the folder
  std::vector<std::string> ambiguous;  // names that several files match
};

// Looks for the files with code whose texts the shaders do not hold.
FoundTexts find_texts(const Model& model, const SourceFolder& folder);

// The text of a file of the map from elsewhere, as compilers number its lines
// (spirv/analysis/line_directives.h).
std::string numbered_text(const spirv::BlockMap& map, uint32_t file, std::string text);

// Indexed by file: whether a block has a line of it.
std::vector<bool> files_with_code(const spirv::BlockMap& map);

}  // namespace tally::analysis
