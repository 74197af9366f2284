// Vertices 3n to 3n+2 form a triangle of 4x4 pixels in cell n; a 400x400 image has 100 cells per row.
#version 450
void main() {
  uint cell = gl_VertexIndex / 3, corner = gl_VertexIndex % 3;
  vec2 at = vec2(cell % 100, cell / 100) + vec2(corner & 1, corner >> 1);
  gl_Position = vec4(at / 50.0 - 1.0, 0, 1);
}
