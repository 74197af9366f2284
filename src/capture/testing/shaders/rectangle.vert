#version 450

// Two triangles that cover the viewport and end with it.
void main() {
  const vec2 corner = vec2(gl_VertexIndex % 2, (gl_VertexIndex % 3 + gl_VertexIndex / 3) / 2);
  gl_Position = vec4(corner * 2.0 - 1.0, 0.5, 1.0);
}
