// The same as query_records.comp, with an invocation for each record: for records with few counters.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "query_record.glsl"

layout(constant_id = 0) const uint kLanes = 64;
layout(local_size_x_id = 0) in;

void main() {
  BatchHeader batch = BatchHeader(address);
  const uint index = operation() * kLanes + gl_LocalInvocationIndex;
  if (index >= batch.small_records) return;
  const QueryRecord record = record_at(batch.records + index);
  for (uint counter = 0; counter < record.counter_count; ++counter) {
    const uvec2 taken = take(record, counter);
    if (taken == uvec2(0)) continue;
    keep(record, counter, taken);
    for (uint t = 0; t < record.target_count; ++t) {
      const QueryTarget target = target_of(record, t);
      if (target.pass != batch.pass) continue;
      Words matrix = Words(target.matrix);
      for (uint row = 0; row < target.row_count; ++row) {
        const int factor = int(matrix.at[row * record.counter_count + counter]);
        if (factor != 0) add_to(target.rows, row, times(taken, factor));
      }
    }
  }
}
