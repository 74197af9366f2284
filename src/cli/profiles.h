// Loads captures for `tally diff`, `tally snapshot` and `tally check`.
#pragma once

#include <string>

#include "analysis/diff/make_profile.h"
#include "base/status.h"

namespace tally::cli {

// It is an error if the capture holds no Vulkan commands.
Result<analysis::Profile> load_profile(const std::string& file,
                                       const analysis::ProfileOptions& options);

}  // namespace tally::cli
