// Compares two captures by their profiles.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "analysis/diff/difference.h"
#include "analysis/diff/profile.h"
#include "analysis/source/shader_source.h"

namespace tally::analysis {

// The differences between the functions and lines of two versions of a shader.

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

// "llvmpipe (LLVM 15.0.6, 256 bits); llvmpipe Mesa 22.3.6": the devices of a capture.
std::string driver_of(const Summary& summary);

// `metric`: whose change the causes explain, as find_causes() has it.
CaptureDiff compare(const Profile& before, const Profile& after, const std::string& metric = {});

// Which shaders need reconstructed GLSL for a comparison: making it takes time.

// The hashes (Identity::hash) of the shaders whose code or counts differ between two profiles that
// have no reconstructed lines: with Glsl all, with Auto those without a source text, else none.
std::set<std::string> glsl_candidates(const Profile& before, const Profile& after,
                                      SourceChoice choice);

}  // namespace tally::analysis
