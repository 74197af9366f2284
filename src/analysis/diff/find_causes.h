// Finds the causes of a change between two profiles.
#pragma once

#include <string>

#include "analysis/diff/causes.h"
#include "analysis/diff/difference.h"
#include "analysis/diff/profile.h"

namespace tally::analysis {

// `metric`: one whose values of lines add up to those of shaders; else, or if it is empty, the
// default metric counts.
Causes find_causes(const Profile& before, const Profile& after, const Matching& shaders,
                   const std::string& metric);

}  // namespace tally::analysis
