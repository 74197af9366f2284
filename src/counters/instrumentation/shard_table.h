// Over how many shards (log2) a record spreads its counters, by how much work adds to it.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <limits>

namespace tally::counters {

// How much a command may do, in vertices or workgroups.
inline constexpr uint64_t kUnknownWork = ~uint64_t{0};

class ShardTable {
 public:
  // `most`: of one record. `fixed`: so many for all.
  ShardTable(uint32_t most, bool fixed);

  uint32_t shards_for(uint64_t work) const { return by_width_[std::bit_width(work)]; }

 private:
  std::array<uint8_t, std::numeric_limits<uint64_t>::digits + 1> by_width_{};
};

}  // namespace tally::counters
