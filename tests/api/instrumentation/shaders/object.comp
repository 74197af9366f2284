#version 450
#extension GL_GOOGLE_include_directive : require
#include "object.glsl"
#ifdef KERNEL_flat
layout(local_size_x = 3, local_size_y = 2) in;
#else
layout(local_size_x = 8) in;
#endif
shared uint total;

void main() {
  const uint i = gl_LocalInvocationIndex;
  if (i == 0u) total = seed;
  barrier();
  atomicAdd(total, i * copies);
  barrier();
  uint sum = total;
  if (HAS(kBranches)) {
    for (uint k = 0u; k < i % 4u; ++k) sum = hash(sum);
  }
  atomicAdd(sums[16u + (gl_WorkGroupID.x * 8u + i) % 64u], sum);
  if (HAS(kWrites)) atomicAdd(sums[7], 1u);
}
