// Writes the device's clock into the slot of a query and makes the query available.
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_shader_realtime_clock : require
#include "query.glsl"

layout(local_size_x = 1) in;

// What a tick of the clock is of a timestamp's unit.
layout(constant_id = 0) const uint kWhole = 1;
layout(constant_id = 1) const uint kFraction = 0;  // of 2^32

struct QueryTimestamp {
  uvec2 slot;
  uint views;
  uint slot_bytes;
};
layout(buffer_reference, std430, buffer_reference_align = 8) buffer Timestamps {
  QueryTimestamp timestamp;
};

uvec2 product(uint a, uint b) {
  uvec2 result;
  umulExtended(a, b, result.y, result.x);
  return result;
}

uvec2 scaled(uvec2 ticks) {
  uvec2 whole = product(ticks.x, kWhole);
  whole.y += ticks.y * kWhole;
  const uvec2 fraction = product(ticks.y, kFraction);
  return add(add(whole, fraction), uvec2(product(ticks.x, kFraction).y, 0));
}

void main() {
  const uvec2 now = scaled(clockRealtime2x32EXT());
  const QueryTimestamp query = Timestamps(address).timestamp;
  for (uint view = 0; view < query.views; ++view) {
    const uvec2 slot = advanced(query.slot, view * query.slot_bytes);
    Numbers(advanced(slot, kSlotHeader)).at[0] = view == 0 ? now : uvec2(0);
    memoryBarrierBuffer();
    Words(slot).at[0] = 1;
  }
}
