#version 450
// Triangles without an area, and much work for each vertex.
void main() {
  float x = float(gl_VertexIndex);
  for (int i = 0; i < 20; ++i) x = sin(x) + 1;
  gl_Position = vec4(x * 0, 0, 0, 1);
}
