// tiny_draws.vert, which passes on the number of the draw: its first instance.
#version 450
layout(location = 0) flat out uint draw;
void main() {
  uint cell = gl_VertexIndex / 3, corner = gl_VertexIndex % 3;
  vec2 at = vec2(cell % 100, cell / 100) + vec2(corner & 1, corner >> 1);
  draw = gl_InstanceIndex;
  gl_Position = vec4(at / 50.0 - 1.0, 0, 1);
}
