// Vertices 3n to 3n+2 are a triangle on 4x4 pixels: cell n, of 100 in each row of a picture of 400x400.
#version 450
void main() {
  uint cell = gl_VertexIndex / 3, corner = gl_VertexIndex % 3;
  vec2 at = vec2(cell % 100, cell / 100) + vec2(corner & 1, corner >> 1);
  gl_Position = vec4(at / 50.0 - 1.0, 0, 1);
}
