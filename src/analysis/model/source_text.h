// Names and texts of source files.
#pragma once

#include <string>
#include <vector>

#include "spirv/analysis/block_map.h"

namespace tally::analysis {

// The file's name without its folders; "source" if it has no name.
std::string file_title(const spirv::BlockMap& map, uint32_t file);

// The lines of a text, without line terminators.
std::vector<std::string> lines_of_text(const std::string& text);

}  // namespace tally::analysis
