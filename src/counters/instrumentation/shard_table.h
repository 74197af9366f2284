// The number of shards (log2) of a record, by the amount of work that adds to its counters.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <limits>

namespace tally::counters {

// The work of a command, in vertices or workgroups.
inline constexpr uint64_t kUnknownWork = ~uint64_t{0};

class ShardTable {
 public:
  // `fixed`: every record has the maximum.
  ShardTable(uint32_t max_shards_log2, bool fixed);

  uint32_t shards_for(uint64_t work) const { return by_width_[std::bit_width(work)]; }

 private:
  std::array<uint8_t, std::numeric_limits<uint64_t>::digits + 1> by_width_{};
};

}  // namespace tally::counters
