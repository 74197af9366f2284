// Source files as the debug information of a shader carries them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "spirv/analysis/block_map.h"

namespace tally::analysis {

// The file's name without its folders; "source" where it has none.
std::string file_title(const spirv::BlockMap& map, uint32_t file);

// All lines of a text, without line ends.
std::vector<std::string> lines_of_text(const std::string& text);

// Lines of a shader's files, each file divided once, however many lines are asked for. As long as
// the map is.
class SourceLines {
 public:
  explicit SourceLines(const spirv::BlockMap& map) : map_(map), files_(map.files().size()) {}

  // Without its line end; "" where the module does not carry it.
  std::string text(const spirv::SourceLocation& location);

 private:
  const spirv::BlockMap& map_;
  std::vector<std::optional<std::vector<std::string>>> files_;
};

}  // namespace tally::analysis
