// Source files, as embedded in the debug information of a shader.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "spirv/analysis/block_map.h"

namespace tally::analysis {

// The file's name without its folders; "source" if it has no name.
std::string file_title(const spirv::BlockMap& map, uint32_t file);

// The lines of a text, without line terminators.
std::vector<std::string> lines_of_text(const std::string& text);

// The lines of a shader's files. Each file is split once, on first use. Must not outlive the map.
class SourceLines {
 public:
  explicit SourceLines(const spirv::BlockMap& map) : map_(map), files_(map.files().size()) {}

  // The line without its terminator; "" if the module does not contain it.
  std::string text(const spirv::SourceLocation& location);

 private:
  const spirv::BlockMap& map_;
  std::vector<std::optional<std::vector<std::string>>> files_;
};

}  // namespace tally::analysis
