// Compares the counts of a capture with a snapshot and its limits.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/check/snapshot.h"
#include "analysis/diff/causes.h"

namespace tally::analysis {

// The limits of a snapshot: which counts may grow, and by how much. A text file of one rule a line:
//   KIND NAME METRIC LIMIT
// KIND is pass, shader, function, line or executable. NAME and METRIC may hold * and ?. LIMIT is
// one of
//   exact      any other count is a finding; the default
//   +1.5%      at most so much more than in the snapshot
//   ratchet    not more than in the snapshot, and an update never raises the count; a count that
//              the snapshot does not have is a finding until an update adds it
//   ignore     not compared, and not in the snapshot
//   <=400000   at most so many, whatever the snapshot says; the only limit of functions, lines and
//              executables
// The last rule without <= that matches a count wins; every <= that matches holds.

inline constexpr int kLimitsVersion = 1;

enum class LimitKind { Exact, Growth, Ratchet, Ignore, Cap };

struct Limit {
  LimitKind kind = LimitKind::Exact;
  uint64_t amount = 0;  // Growth: in millionths; Cap: the count
  std::string text = "exact";
  CountKey pattern;
  size_t line = 0;  // in the limits file
};

struct Limits {
  std::string file;
  std::vector<Limit> rules;
};

Result<Limits> parse_limits(const std::string& file, std::string_view text);

bool matches(const Limit& limit, const CountKey& key);
// True if the limit allows the change. Exact arithmetic.
bool allows(const Limit& limit, uint64_t before, uint64_t after);

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
  Causes causes;                  // of the change of instructions; empty without findings
  std::string driver;             // of the capture
  bool same_program = false;      // the same shaders ran in the same draws and dispatches
  // The snapshot has no counts of the capture's driver, and the program is the same: the driver
  // changed the counts.
  bool by_driver = false;
  // Findings that an update does not resolve: caps and ratchets.
  std::vector<Finding> remaining() const;
};

// It is an error if a limit matches nothing; the message begins with FILE:LINE.
// `statistics`: of statistic_counts.
Result<CheckResult> check(const Snapshot& snapshot, const std::optional<Limits>& limits,
                          const Profile& profile, const Counts& statistics,
                          const std::string& tool_version);

}  // namespace tally::analysis
