#version 450
// A triangle that covers the target.
void main() {
  gl_Position = vec4(vec2(gl_VertexIndex << 1 & 2, gl_VertexIndex & 2) * 2 - 1, 0, 1);
}
