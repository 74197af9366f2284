// Sums up a capture as a profile.
#pragma once

#include "analysis/diff/profile.h"
#include "analysis/diff/profile_options.h"
#include "base/status.h"

namespace tally::analysis {

Result<Profile> make_profile(const Model& model, const ProfileOptions& options,
                             const Progress& progress);

}  // namespace tally::analysis
