#version 450
// Covers the viewport of 64 x 64 pixels. Its depth is 0.5 in the middle of a row of pixels, and rises from row to row.
void main() {
  const vec2 corner = vec2(gl_VertexIndex & 1, gl_VertexIndex >> 1);
  const float first = 0.5 - 32.5 / 256.0;
  gl_Position = vec4(corner * 4.0 - 1.0, first + 0.5 * corner.y, 1.0);
}
