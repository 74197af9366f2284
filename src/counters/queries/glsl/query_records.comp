// Adds the counters of one stage in one record to the rows of the queries that were active.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "query.glsl"

// One subgroup: most records have few counters.
layout(constant_id = 0) const uint kLanes = 64;
layout(local_size_x_id = 0) in;

shared uvec2 sums[64];

#define RECORD Records(advanced(address, kBatchBytes)).at[operation()]

// The count since the last read, modulo 2^64 as the counters.
uvec2 take(uint counter) {
  Numbers counters = Numbers(RECORD.counters);
  const bool kept = RECORD.previous != uvec2(0);
  uvec2 sum = uvec2(0);
  for (uint shard = 0; shard < (1u << RECORD.shards_log2); ++shard) {
    const uint index = shard * RECORD.stride + counter;
    sum = add(sum, counters.at[index]);
    if (!kept) counters.at[index] = uvec2(0);
  }
  if (!kept) return sum;
  Numbers previous = Numbers(RECORD.previous);
  const uvec2 gained = subtract(sum, previous.at[counter]);
  previous.at[counter] = sum;
  return gained;
}

void keep(uint counter, uvec2 taken) {
  if (RECORD.kept == uvec2(0)) return;
  Numbers kept = Numbers(RECORD.kept);
  kept.at[counter] = add(kept.at[counter], taken);
}

void main() {
  BatchHeader batch = BatchHeader(address);
  if (operation() >= batch.records) return;
  const uint counters = RECORD.counter_count;
  const uint targets = RECORD.target_count;
  for (uint first = 0; first < counters; first += kLanes) {
    const uint counter = first + gl_LocalInvocationIndex;
    barrier();
    const uvec2 taken = counter < counters ? take(counter) : uvec2(0);
    if (taken != uvec2(0)) keep(counter, taken);
    sums[gl_LocalInvocationIndex] = taken;
    barrier();
    const uint count = min(kLanes, counters - first);
    for (uint t = 0; t < targets; ++t) {
      const QueryTarget target = RECORD.targets[t];
      if (target.pass != batch.pass) continue;
      Words matrix = Words(target.matrix);
      for (uint row = gl_LocalInvocationIndex; row < target.row_count; row += kLanes) {
        uvec2 gained = uvec2(0);
        for (uint i = 0; i < count; ++i) {
          const int factor = int(matrix.at[row * counters + first + i]);
          if (factor != 0) gained = add(gained, times(sums[i], factor));
        }
        add_to(target.rows, row, gained);
      }
    }
  }
}
