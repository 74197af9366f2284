#version 450
// Captured as feedback.vert does.
layout(triangles, equal_spacing, ccw) in;
layout(location = 0, xfb_buffer = 0, xfb_offset = 0, xfb_stride = 16) out vec4 of_first;
layout(location = 1, xfb_buffer = 1, xfb_offset = 0, xfb_stride = 32) out vec2 of_second;

void main() {
  of_first = gl_TessCoord.xyzz;
  of_second = gl_TessCoord.xy;
  gl_Position = vec4(gl_TessCoord.xy, 0.5, 1);
}
