// Compares two captures by their profiles.
#pragma once

#include <string>

#include "analysis/diff/difference.h"
#include "analysis/diff/profile.h"

namespace tally::analysis {

// "llvmpipe (LLVM 15.0.6, 256 bits); llvmpipe Mesa 22.3.6": the devices of a capture.
std::string driver_of(const Summary& summary);

CaptureDiff compare(const Profile& before, const Profile& after);

}  // namespace tally::analysis
