#version 450
#extension GL_GOOGLE_include_directive : require
#include "object.glsl"
layout(vertices = 3) out;
layout(location = 0) in vec4 color_in[];
layout(location = 0) out vec4 color[];

void main() {
  const uint i = gl_InvocationID;
  gl_out[gl_InvocationID].gl_Position = gl_in[i].gl_Position;
  color[gl_InvocationID] = color_in[i];
  if (i == 0u) {
    float inner = level;
    if (HAS(kBranches) && (gl_PrimitiveID & 1) != 0) inner += 1.0;
    gl_TessLevelInner[0] = inner;
    gl_TessLevelOuter[0] = level;
    gl_TessLevelOuter[1] = inner;
    gl_TessLevelOuter[2] = level;
  }
  if (HAS(kWrites)) atomicAdd(sums[1], 1u + i);
}
