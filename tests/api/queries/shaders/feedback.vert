#version 450
// Captured into two buffers; the second one's vertices are padded.
layout(location = 0, xfb_buffer = 0, xfb_offset = 0, xfb_stride = 16) out vec4 of_first;
layout(location = 1, xfb_buffer = 1, xfb_offset = 0, xfb_stride = 32) out vec2 of_second;

void main() {
  of_first = vec4(gl_VertexIndex);
  of_second = vec2(gl_VertexIndex, gl_InstanceIndex);
  // Every three vertices cover the whole target.
  gl_Position = vec4(vec2(gl_VertexIndex % 3 & 1, gl_VertexIndex % 3 >> 1) * 4.0 - 1.0, 0.5, 1.0);
  gl_PointSize = 1;
}
