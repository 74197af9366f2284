#version 450
#extension GL_GOOGLE_include_directive : require
#include "object.glsl"
layout(location = 0) in vec4 color;
layout(location = 0) out vec4 result;

void main() {
  result = color;
  const uint at = uint(gl_FragCoord.x) + uint(gl_FragCoord.y) * 64u;
  if (HAS(kBranches)) {
    if ((at & 5u) == 5u) result.z = 0.25;
    for (uint i = 0u; i < at % 3u; ++i) result.x = result.x * 0.5;
  }
  // Those that write may discard, so that a driver runs hidden ones, too.
  if ((HAS(kWrites) || HAS(kUneven)) && hash(at) % 7u == seed % 7u) discard;
  if (HAS(kWrites)) atomicAdd(sums[4], 1u);
#ifdef KERNEL_depth
  gl_FragDepth = gl_FragCoord.z * 0.5 + 0.25;
#endif
}
