// Sums up a capture as a profile.
#pragma once

#include "analysis/diff/profile.h"
#include "base/status.h"

namespace tally::analysis {

struct ProfileOptions {
  bool code = true;       // shaders have functions and lines
  bool commands = false;  // commands have items
};

Result<Profile> make_profile(const Model& model, const ProfileOptions& options,
                             const Progress& progress);

}  // namespace tally::analysis
