#version 450
#extension GL_GOOGLE_include_directive : require
#include "scattered.glsl"
layout(location = 3, xfb_buffer = 0, xfb_offset = 0, xfb_stride = 16) out vec4 captured;

void main() {
  gl_Position = place(gl_VertexIndex, gl_InstanceIndex);
  gl_PointSize = 1.0;
  captured = gl_Position;
}
