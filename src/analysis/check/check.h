// Compares the counts of a capture with a snapshot and its limits.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/check/snapshot.h"
#include "analysis/diff/causes.h"
#include "analysis/predict/prediction.h"
#include "store/read/reader.h"

namespace tally::analysis {

// The limits of a snapshot: which counts may grow, and by how much. A text file of one rule a line:
//   KIND NAME METRIC LIMIT
// KIND is pass, shader, function, line, executable or time. NAME and METRIC may hold * and ?. LIMIT
// is one of
//   exact      any other count is a finding; the default
//   +1.5%      at most so much more than in the snapshot
//   ratchet    not more than in the snapshot, and an update never raises the count; a count that
//              the snapshot does not have is a finding until an update adds it
//   ignore     not compared, and not in the snapshot
//   <=400000   at most so many, whatever the snapshot says; the only limit of functions, lines and
//              executables
//   <=2.5ms    the only limit of a time: NAME is a pass or dispatch as tally predict shows it,
//              METRIC a calibrated device. The low end of the predicted interval is compared.
// The last rule without <= that matches a count wins; every <= that matches holds.

inline constexpr int kLimitsVersion = 1;

enum class LimitKind { Exact, Growth, Ratchet, Ignore, Cap };

struct Limit {
  LimitKind kind = LimitKind::Exact;
  uint64_t amount = 0;  // Growth: in millionths; Cap: the count, of a time in nanoseconds
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
  uint64_t before = 0;  // in the snapshot; 0 for what it does not hold
  uint64_t after = 0;
  Limit limit;
  std::string file;   // of functions and lines, with its folders
  uint32_t line = 0;  // 0: unknown

  bool is_cap() const { return limit.kind == LimitKind::Cap; }
  bool is_time() const { return key.kind == "time"; }
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

// Counts of a capture that snapshots do not hold; they are compared with <= limits alone.
struct CappedCounts {
  Counts counts;
  // Times that no limit may name, and why: "extrapolated".
  std::map<CountKey, std::string> unknown;
};

// Adds the statistics of the driver's compiler: those of the executable "blur fragment" of the
// pipeline "blur". Where several have the name, the largest one. Rounded up; 0 for those below 0.
Status add_statistics(const store::Reader& capture, CappedCounts& counts);
// Adds the low ends of predicted times.
void add_times(const Prediction& prediction, CappedCounts& counts);

// It is an error if a limit matches nothing, or a time that is not known; the message begins with
// FILE:LINE.
Result<CheckResult> check(const Snapshot& snapshot, const std::optional<Limits>& limits,
                          const Profile& profile, const CappedCounts& capped,
                          const std::string& tool_version);

}  // namespace tally::analysis
