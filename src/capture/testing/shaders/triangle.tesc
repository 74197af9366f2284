#version 450
// Patches of three control points, not divided.

layout(vertices = 3) out;

void main() {
  gl_out[gl_InvocationID].gl_Position = gl_in[gl_InvocationID].gl_Position;
  gl_TessLevelInner[0] = 1;
  for (int i = 0; i < 3; ++i) gl_TessLevelOuter[i] = 1;
}
