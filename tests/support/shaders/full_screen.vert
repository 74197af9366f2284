#version 450

// One triangle that covers the whole viewport, at depth 0.5.
void main() {
  const vec2 corner = vec2(gl_VertexIndex & 1, gl_VertexIndex >> 1) * 4.0 - 1.0;
  gl_Position = vec4(corner, 0.5, 1.0);
}
