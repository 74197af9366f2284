#version 450
layout(location = 0) out vec2 position;

// One triangle that covers the whole target.
void main() {
  position = vec2(gl_VertexIndex & 1, gl_VertexIndex >> 1) * 4.0 - 1.0;
  gl_Position = vec4(position, 0.0, 1.0);
}
