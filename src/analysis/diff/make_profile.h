// Sums up a capture as a profile.
#pragma once

#include <memory>
#include <set>
#include <string>

#include "analysis/diff/profile.h"
#include "base/status.h"

namespace tally::analysis {

struct ProfileOptions {
  bool code = true;       // shaders have functions and lines
  bool commands = false;  // commands have items
  // The lines that shaders have. GLSL is reconstructed only for the shaders of this list
  // (Identity::hash); others have the lines of their debug information.
  SourceChoice source = SourceChoice::Debug;
  std::set<std::string> reconstructed;
  bool reconstruct_all = false;                // for all shaders
  std::shared_ptr<const SourceFolder> folder;  // of source files; may be null
};

Result<Profile> make_profile(const Model& model, const ProfileOptions& options,
                             const Progress& progress);

}  // namespace tally::analysis
