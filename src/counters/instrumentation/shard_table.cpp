#include "counters/instrumentation/shard_table.h"

#include <algorithm>

namespace tally::counters {
namespace {

// Where only the GPU knows how much work there is.
constexpr uint32_t kUnknownShardsLog2 = 6;
// Of much work so many units, as a power of two, have a shard.
constexpr uint32_t kWorkOfShardLog2 = 5;

}  // namespace

// Little work meets little contention, and small records are quicker to zero and to read.
ShardTable::ShardTable(uint32_t most, bool fixed) {
  for (uint32_t width = 0; width < by_width_.size(); ++width) {
    const uint32_t wanted = std::max(width / 2, width - std::min(width, kWorkOfShardLog2));
    by_width_[width] = static_cast<uint8_t>(fixed ? most : std::min(wanted, most));
  }
  if (fixed) return;
  by_width_[std::bit_width(kUnknownWork)] =
      static_cast<uint8_t>(std::min(kUnknownShardsLog2, most));
}

}  // namespace tally::counters
