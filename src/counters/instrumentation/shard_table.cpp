#include "counters/instrumentation/shard_table.h"

#include <algorithm>

namespace tally::counters {
namespace {

// If only the GPU knows the amount of work.
constexpr uint32_t kUnknownShardsLog2 = 6;
// Units of work per shard (log2), for large work.
constexpr uint32_t kWorkPerShardLog2 = 5;

}  // namespace

// Small work has little contention, and small records are faster to zero and to read.
ShardTable::ShardTable(uint32_t max_shards_log2, bool fixed) {
  for (uint32_t width = 0; width < by_width_.size(); ++width) {
    const uint32_t wanted = std::max(width / 2, width - std::min(width, kWorkPerShardLog2));
    by_width_[width] =
        static_cast<uint8_t>(fixed ? max_shards_log2 : std::min(wanted, max_shards_log2));
  }
  if (fixed) return;
  by_width_[std::bit_width(kUnknownWork)] =
      static_cast<uint8_t>(std::min(kUnknownShardsLog2, max_shards_log2));
}

}  // namespace tally::counters
