// Record operations (src/probe/query.h).
#include "query.glsl"

QueryRecord record_at(uint index) { return Records(advanced(address, kBatchBytes)).at[index]; }

QueryTarget target_of(QueryRecord record, uint index) {
  return Targets(advanced(address, BatchHeader(address).targets_at)).at[record.first_target + index];
}

// The count since the last read, modulo 2^64 as the counters.
uvec2 take(QueryRecord record, uint counter) {
  Numbers counters = Numbers(record.counters);
  const bool stays = record.previous != uvec2(0);
  uvec2 sum = uvec2(0);
  for (uint shard = 0; shard < (1u << record.shards_log2); ++shard) {
    const uint index = shard * record.stride + counter;
    sum = add(sum, counters.at[index]);
    if (!stays) counters.at[index] = uvec2(0);
  }
  if (!stays) return sum;
  Numbers previous = Numbers(record.previous);
  const uvec2 gained = subtract(sum, previous.at[counter]);
  previous.at[counter] = sum;
  return gained;
}

void keep(QueryRecord record, uint counter, uvec2 taken) {
  if (record.kept == uvec2(0)) return;
  Numbers kept = Numbers(record.kept);
  kept.at[counter] = add(kept.at[counter], taken);
}
