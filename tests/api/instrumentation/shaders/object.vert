#version 450
#extension GL_GOOGLE_include_directive : require
#include "object.glsl"
layout(location = 0) in uint given;
layout(location = 0) out vec4 color;

void main() {
  uint from = seed + gl_VertexIndex * 8u + gl_InstanceIndex * 4096u;
  if (HAS(kAttributes)) from += given * 64u;
  vec2 at = vec2(cell(from), cell(from + 1u)) * spread;
  float w = 1.0;
  if (HAS(kUneven)) {
    at = at * 1.0371 + 0.0123;
    w = 1.0 + 0.3 * depth_of(from + 9u);
  }
  color = color_of(from + 3u);
  if (HAS(kBranches)) {
    for (uint i = 0u; i < (from >> 3) % 5u; ++i) color.x += 0.0625;
    if ((from & 8u) != 0u) color.yz = color.zy;
  }
  if (HAS(kWrites)) atomicAdd(sums[0], 1u + (from & 255u));
  gl_Position = vec4(at, depth_of(from + 2u), w);
  gl_PointSize = 1.0;
}
