// Which line of a shader is which line of another version of it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "analysis/diff/profile.h"

namespace tally::analysis {

class CodeAlignment {
 public:
  using Place = std::pair<uint32_t, uint32_t>;  // file, line
  struct Aligned {
    Place after;
    bool moved;
  };

  CodeAlignment(const ShaderItem& before, const ShaderItem& after);

  // Nullopt: the version after does not have the line. Line 0 stands for code without a line.
  std::optional<Aligned> after_of(const Place& place) const;

 private:
  bool same_lines_;
  std::map<Place, Aligned> aligned_;
};

// The name of a file without its folders.
std::string base_name(const std::string& path);
// True if the shader's lines are of reconstructed GLSL.
bool is_reconstructed(const ShaderItem& shader);

}  // namespace tally::analysis
