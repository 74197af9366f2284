// Which shaders need reconstructed GLSL for a comparison: making it takes time.
#pragma once

#include <set>
#include <string>

#include "analysis/diff/profile.h"
#include "analysis/source/shader_source.h"

namespace tally::analysis {

// The hashes (Identity::hash) of the shaders whose code or counts differ between two profiles that
// have no reconstructed lines: with Glsl all, with Auto those without a source text, else none.
std::set<std::string> glsl_candidates(const Profile& before, const Profile& after,
                                      SourceChoice choice);

}  // namespace tally::analysis
