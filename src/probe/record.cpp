#include "probe/record.h"

#include <algorithm>

namespace tally::probe {

bool sum_shards(std::span<const uint64_t> record, const StageCounters& stage, uint32_t shards_log2,
                std::span<uint64_t> sums) {
  if (shards_log2 > kMaxShardsLog2) return false;
  const uint32_t shards = 1u << shards_log2;
  if (counter_index(stage, shards_log2, shards, 0) > record.size()) return false;
  const size_t count = std::min<size_t>(stage.stride, sums.size());
  std::fill_n(sums.begin(), count, uint64_t{0});
  for (uint32_t shard = 0; shard < shards; ++shard) {
    const auto counters = record.subspan(counter_index(stage, shards_log2, shard, 0), count);
    for (size_t i = 0; i < count; ++i) sums[i] += counters[i];
  }
  return true;
}

}  // namespace tally::probe
