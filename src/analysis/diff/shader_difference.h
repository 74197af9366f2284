// The differences between the functions and lines of two versions of a shader.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/diff/difference.h"
#include "analysis/diff/value_map.h"

namespace tally::analysis {

struct Invocations {
  uint64_t before, after;

  // True if all values changed, and in proportion to the invocations.
  bool explain(const std::vector<uint64_t>& values_before,
               const std::vector<uint64_t>& values_after) const;
};

struct ShaderDifference {
  std::vector<Difference> functions, lines;
};

ShaderDifference compare_code(const ShaderItem& before, const ShaderItem& after,
                              const ValueMap& map, const Invocations& invocations);

}  // namespace tally::analysis
