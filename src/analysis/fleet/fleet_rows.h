// The rows that a capture has in a data set of many captures: passes, shaders and lines, each with
// a key that is the same in every capture that has it, also after other code has changed. Key: the
// hash of what it is called; docs/user/fleets.md says of what.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/coverage/coverage.h"
#include "analysis/diff/profile.h"

namespace tally::analysis {

// A metric of a pass or shader that is not 0.
struct FleetCount {
  std::string key;
  std::string name;
  std::string place;  // of a pass: the labels around it; of a shader: its stage
  std::string code;   // of a shader: the hash of its SPIR-V, or of all SPIR-V of this name
  std::string metric;
  uint64_t value = 0;
};

struct FleetLine {
  std::string key;
  std::string file;
  uint32_t number = 0;  // the first of this key
  std::string text;     // without the space around it; empty: not known
  uint64_t executions = 0;
};

// Ordered by key (and metric).
struct FleetRows {
  std::vector<FleetCount> passes, shaders;
  std::vector<FleetLine> lines;
};

// `folder`: files below it are named relative to it, so that a checkout may be anywhere.
FleetRows make_fleet_rows(const Profile& profile, const Coverage& coverage,
                          const std::string& folder);

}  // namespace tally::analysis
