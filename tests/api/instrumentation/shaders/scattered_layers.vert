#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_ARB_shader_viewport_layer_array : require
#include "scattered.glsl"

void main() {
  gl_Position = place(gl_VertexIndex, gl_InstanceIndex);
  gl_PointSize = 3.0;
  gl_Layer = gl_InstanceIndex % 3;
  gl_ViewportIndex = gl_VertexIndex / 3 % 3;
}
