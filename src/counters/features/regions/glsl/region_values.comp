// Converts the accumulators of a subpass to the application's values. One invocation per region, and one
// layer of workgroups per layer of the framebuffer. Writes every value, zeros too, and nothing else.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "region_block.glsl"

layout(local_size_x = 8, local_size_y = 8) in;

// The accumulator that fragment warps are computed from: invocations.
layout(constant_id = 0) const uint kWarps = 0;
layout(constant_id = 1) const uint kInvocations = 1;
// More primitives than the set of primitives can hold.
layout(constant_id = 2) const uint kPrimitives = 2;

void main() {
  BlockReference from = BlockReference(address);
  const uvec3 region = gl_GlobalInvocationID;
  const uint columns = from.block.regions & 0xffff, rows = from.block.regions >> 16;
  if (region.x >= columns || region.y >= rows) return;
  const uvec2 target = from.addresses[region.z];
  if (target == uvec2(0)) return;
  const uint index = (region.z * rows + region.y) * columns + region.x;
  Words accumulators = Words(advanced(from.block.accumulators, index * kAccumulators * 4));
  Words values = Words(
      advanced(target, region.y * from.block.row_bytes + region.x * from.block.region_bytes));
  for (uint i = 0; i < from.block.counter_count; ++i) {
    const uint counter = from.counters[i];
    uint value = 0;
    if (from.block.wanted == 0 || counter >= kAccumulators) {
      value = 0;
    } else if (counter == kWarps) {
      const uint invocations = accumulators.at[kInvocations];
      value = invocations / from.block.subgroup_size +
              uint(invocations % from.block.subgroup_size != 0);
    } else {
      value = accumulators.at[counter];
    }
    if (counter == kPrimitives && value > from.block.primitive_limit) {
      value = from.block.primitive_limit;
      from.block.too_many = 1;
    }
    values.at[i] = value;
  }
}
