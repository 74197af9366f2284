// Finishes queries, one per invocation: adds the constants of the host and the time, then sets the query
// available.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "query.glsl"

layout(constant_id = 0) const uint kLanes = 64;
const uint kNoRow = ~0u;
layout(local_size_x_id = 0) in;

void main() {
  BatchHeader batch = BatchHeader(address);
  const uint index = operation() * kLanes + gl_LocalInvocationIndex;
  if (index >= batch.finishes) return;
  const QueryFinish query =
      Finishes(advanced(address, finishes_at())).at[index];
  const uvec2 rows = advanced(query.slot, kSlotHeader);
  if (batch.pass == query.pass) {
    Numbers constants = Numbers(query.constants);
    for (uint row = 0; row < query.rows; ++row) add_to(rows, row, constants.at[row]);
  }
  if (query.time_row != kNoRow && batch.pass == query.time_pass) {
    Numbers ticks = Numbers(advanced(query.slot, 16));
    add_to(rows, query.time_row, subtract(ticks.at[1], ticks.at[0]));
  }
  for (uint view = 0; view < query.views; ++view) {
    Words slot = Words(advanced(query.slot, view * query.slot_bytes));
    slot.at[1] += view == 0 ? query.errors : 0;
    memoryBarrierBuffer();
    slot.at[0] |= query.all_passes == 1u ? 1u : 1u << batch.pass;
  }
}
