// The limits of a snapshot: which counts may grow, and by how much. A text file of one rule a line:
//   KIND NAME METRIC LIMIT
// KIND is pass, shader, function or line. NAME and METRIC may hold * and ?. LIMIT is one of
//   exact      any other count is a finding; the default
//   +1.5%      at most so much more than in the snapshot
//   ratchet    not more than in the snapshot, and an update never raises the count; a count that
//              the snapshot does not have is a finding until an update adds it
//   ignore     not compared, and not in the snapshot
//   <=400000   at most so many, whatever the snapshot says; the only limit of functions and lines
// The last rule without <= that matches a count wins; every <= that matches holds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/check/snapshot.h"

namespace tally::analysis {

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

}  // namespace tally::analysis
