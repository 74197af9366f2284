// Copies the block of a pass to the blocks of its secondary command buffers, or zeroes those if the lowest
// bit of the address is set. The list has nodes of 1024 bytes: the number of entries, 0, the next node, then
// the entries: the addresses of the source and the destination block.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "region_block.glsl"

layout(local_size_x = 64) in;

const uint kBlockWords = 28;

void main() {
  const bool unlink = (address.x & 1u) != 0;
  uvec2 node = uvec2(address.x & ~1u, address.y);
  while (node != uvec2(0)) {
    Words list = Words(node);
    if (gl_LocalInvocationIndex < list.at[0]) {
      const uint entry = 4 + 4 * gl_LocalInvocationIndex;
      Words from = Words(uvec2(list.at[entry], list.at[entry + 1]));
      Words to = Words(uvec2(list.at[entry + 2], list.at[entry + 3]));
      for (uint i = 0; i < kBlockWords; ++i) to.at[i] = unlink ? 0 : from.at[i];
    }
    node = uvec2(list.at[2], list.at[3]);
  }
}
