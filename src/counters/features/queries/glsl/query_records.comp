// Adds the counters of one stage in one record to the rows of the queries that were active.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "query_record.glsl"

// One subgroup: most records have few counters.
layout(constant_id = 0) const uint kLanes = 64;
layout(local_size_x_id = 0) in;

shared uvec2 sums[64];

void main() {
  BatchHeader batch = BatchHeader(address);
  if (operation() >= batch.records) return;
  const QueryRecord record = record_at(operation());
  const uint counters = record.counter_count;
  for (uint first = 0; first < counters; first += kLanes) {
    const uint counter = first + gl_LocalInvocationIndex;
    barrier();
    const uvec2 taken = counter < counters ? take(record, counter) : uvec2(0);
    if (taken != uvec2(0)) keep(record, counter, taken);
    sums[gl_LocalInvocationIndex] = taken;
    barrier();
    const uint count = min(kLanes, counters - first);
    for (uint t = 0; t < record.target_count; ++t) {
      const QueryTarget target = target_of(record, t);
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
