// Writes the device clock to the slot of a query and sets the query available.
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_shader_realtime_clock : require
#include "query.glsl"

layout(local_size_x = 1) in;

// Timestamp units per tick of the clock.
layout(constant_id = 0) const uint kWhole = 1;
layout(constant_id = 1) const uint kFraction = 0;  // of 2^32
// The timestamp when the clock is 0.
layout(constant_id = 2) const uint kStartLow = 0;
layout(constant_id = 3) const uint kStartHigh = 0;
// For a 32-bit clock: the address of the time that the host writes, in units of 2^28 ticks.
layout(constant_id = 4) const uint kLatelyLow = 0;
layout(constant_id = 5) const uint kLatelyHigh = 0;

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

// The host's time lags behind the clock, or is slightly ahead of it.
uvec2 widened(uvec2 ticks) {
  if ((kLatelyLow | kLatelyHigh) == 0) return ticks;
  const uint lately = Words(uvec2(kLatelyLow, kLatelyHigh)).at[0];
  const uint ahead = 2;
  const uint since = ((ticks.x >> 28) - lately + ahead) & 15;
  return uvec2(ticks.x, (lately - ahead + since) >> 4);
}

uvec2 scaled(uvec2 ticks) {
  uvec2 whole = product(ticks.x, kWhole);
  whole.y += ticks.y * kWhole;
  const uvec2 fraction = product(ticks.y, kFraction);
  return add(add(whole, fraction), uvec2(product(ticks.x, kFraction).y, 0));
}

void main() {
  const uvec2 now = add(scaled(widened(clockRealtime2x32EXT())), uvec2(kStartLow, kStartHigh));
  const QueryTimestamp query = Timestamps(address).timestamp;
  for (uint view = 0; view < query.views; ++view) {
    const uvec2 slot = advanced(query.slot, view * query.slot_bytes);
    Numbers(advanced(slot, kSlotHeader)).at[0] = view == 0 ? now : uvec2(0);
    memoryBarrierBuffer();
    Words(slot).at[0] = 1;
  }
}
