#version 450
#extension GL_GOOGLE_include_directive : require
#include "object.glsl"
layout(triangles) in;
layout(triangle_strip, max_vertices = 9) out;
layout(location = 0) in vec4 color_in[];
layout(location = 0) out vec4 color;

void main() {
  for (uint copy = 0u; copy < min(copies, 3u); ++copy) {
    if (HAS(kBranches) && ((gl_PrimitiveIDIn + copy) & 3u) == 3u) continue;
    for (int corner = 0; corner < 3; ++corner) {
      gl_Position = gl_in[corner].gl_Position;
      gl_Position.xy += float(copy) * 0.125;
      if (HAS(kUneven)) gl_Position.x *= 0.97;
      color = color_in[corner];
      EmitVertex();
    }
    EndPrimitive();
  }
  if (HAS(kWrites)) atomicAdd(sums[3], 1u);
}
