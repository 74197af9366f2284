#include "probe/record.h"

#include <algorithm>

namespace tally::probe {

bool sum_shards(std::span<const uint64_t> record, const StageCounters& stage, uint32_t shards_log2,
                std::span<uint64_t> sums) {
  if (shards_log2 > kMaxShardsLog2) return false;
  const uint32_t last = (1u << shards_log2) - 1;
  if (counter_index(stage, last, 0) + sums.size() > record.size()) return false;
  std::ranges::copy(record.subspan(counter_index(stage, 0, 0), sums.size()), sums.begin());
  for (uint32_t shard = 1; shard <= last; ++shard) {
    const auto counters = record.subspan(counter_index(stage, shard, 0), sums.size());
    for (size_t i = 0; i < sums.size(); ++i) sums[i] += counters[i];
  }
  return true;
}

}  // namespace tally::probe
