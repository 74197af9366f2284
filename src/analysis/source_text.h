// Source files as the debug information of a shader carries them.
#pragma once

#include <string>

#include "spirv/block_map.h"

namespace tally::analysis {

// The file's name without its folders; "source" where it has none.
std::string file_title(const spirv::BlockMap& map, uint32_t file);

// The text of one line without its line end; "" where the module does not carry it.
std::string line_text(const spirv::BlockMap& map, const spirv::SourceLocation& location);

// All lines of a text, without line ends.
std::vector<std::string> lines_of_text(const std::string& text);

}  // namespace tally::analysis
