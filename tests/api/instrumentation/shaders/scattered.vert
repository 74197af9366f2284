#version 450
#extension GL_GOOGLE_include_directive : require
#include "scattered.glsl"

void main() {
  gl_Position = place(gl_VertexIndex, gl_InstanceIndex);
  gl_PointSize = 1.0 + random(gl_VertexIndex) * 9.0;
}
