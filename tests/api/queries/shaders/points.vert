#version 450
void main() {
  gl_Position = vec4(vec2(gl_VertexIndex % 3 & 1, gl_VertexIndex % 3 >> 1) * 2.0 - 1.0, 0.5, 1.0);
  gl_PointSize = 1;
}
