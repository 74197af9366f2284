#version 450
#extension GL_GOOGLE_include_directive : require
#include "object.glsl"
#ifdef KERNEL_odd
layout(triangles, fractional_odd_spacing, cw) in;
#else
layout(triangles, equal_spacing, ccw) in;
#endif
layout(location = 0) in vec4 color_in[];
layout(location = 0) out vec4 color;

void main() {
  const vec3 at = gl_TessCoord;
  gl_Position = at.x * gl_in[0].gl_Position + at.y * gl_in[1].gl_Position + at.z * gl_in[2].gl_Position;
  color = at.x * color_in[0] + at.y * color_in[1] + at.z * color_in[2];
  if (HAS(kBranches) && at.x > at.y) color.x *= 0.5;
  if (HAS(kUneven)) gl_Position.xy += gl_Position.z * 0.013;
  if (HAS(kWrites)) atomicAdd(sums[2], 1u);
}
