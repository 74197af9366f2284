// Compares the counts of a capture with a snapshot and its limits.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/check/limits.h"
#include "analysis/check/snapshot.h"

namespace tally::analysis {

// A count that its limit does not allow.
struct Finding {
  CountKey key;
  uint64_t before = 0;  // in the snapshot; 0 for functions and lines
  uint64_t after = 0;
  Limit limit;
  std::string file;   // of functions and lines, with its folders
  uint32_t line = 0;  // 0: unknown

  bool is_cap() const { return limit.kind == LimitKind::Cap; }
};

struct CheckResult {
  std::vector<Finding> findings;  // sorted by key
  Counts counts;                  // all counts of the capture
  size_t compared = 0;            // counts that were compared with the snapshot or a cap
  Snapshot updated;               // the snapshot after an update
  // Findings that an update does not resolve: caps and ratchets.
  std::vector<Finding> remaining() const;
};

// It is an error if a limit matches nothing; the message begins with FILE:LINE.
Result<CheckResult> check(const Snapshot& snapshot, const std::optional<Limits>& limits,
                          const Profile& profile, const std::string& tool_version);

}  // namespace tally::analysis
