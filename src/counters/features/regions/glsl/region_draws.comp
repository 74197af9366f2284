// Takes the accumulators of single draws of a subpass: adds them to those of the pass, lists what is not 0
// (src/vk/region_draws.h), and zeroes them for the next pass. One invocation per region, and one layer of
// workgroups per layer of the framebuffer.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "region_block.glsl"

layout(local_size_x = 8, local_size_y = 8) in;

// The accumulator that fragment warps are computed from: invocations.
layout(constant_id = 0) const uint kWarps = 0;
layout(constant_id = 1) const uint kInvocations = 1;

struct Draw {
  uvec2 accumulators;
  uint number;
  uint reserved;
};

layout(buffer_reference, std430, buffer_reference_align = 16) buffer DrawsReference {
  uvec2 block;  // of the subpass
  uvec2 list;   // a RegionDrawsHeader and the entries
  uint capacity;
  uint count;
  uvec2 reserved;
  Draw draws[];
};

const uint kEntries = 3;  // RegionDrawsHeader::entries
const uint kHeaderBytes = 16;

void main() {
  DrawsReference from = DrawsReference(address);
  BlockReference pass = BlockReference(from.block);
  const uvec3 region = gl_GlobalInvocationID;
  const uint columns = pass.block.regions & 0xffff, rows = pass.block.regions >> 16;
  if (region.x >= columns || region.y >= rows) return;
  const uint index = (region.z * rows + region.y) * columns + region.x;
  const uint bytes = index * kAccumulators * 4, counters = pass.block.counter_count;
  Words sums = Words(advanced(pass.block.accumulators, bytes));
  Words list = Words(from.list);
  for (uint d = 0; d < from.count; ++d) {
    Words own = Words(advanced(from.draws[d].accumulators, bytes));
    uint any = 0;
    for (uint i = 0; i < kAccumulators; ++i) any |= own.at[i];
    if (any == 0) continue;
    const uint slot = atomicAdd(list.at[kEntries], 1);
    if (slot < from.capacity) {
      Words entry = Words(advanced(from.list, kHeaderBytes + slot * (2 + counters) * 4));
      entry.at[0] = from.draws[d].number;
      entry.at[1] = index;
      for (uint i = 0; i < counters; ++i) {
        const uint counter = pass.counters[i];
        uint value = 0;
        if (counter == kWarps) {
          const uint invocations = own.at[kInvocations];
          value = invocations / pass.block.subgroup_size +
                  uint(invocations % pass.block.subgroup_size != 0);
        } else if (counter < kAccumulators) {
          value = own.at[counter];
        }
        entry.at[2 + i] = value;
      }
    }
    for (uint i = 0; i < kAccumulators; ++i) {
      if (own.at[i] == 0) continue;
      sums.at[i] += own.at[i];
      own.at[i] = 0;
    }
  }
}
