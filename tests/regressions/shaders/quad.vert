#version 450
layout(location = 0) out vec2 position;
layout(push_constant) uniform Draw { float depth; };

// A triangle that covers the whole target.
void main() {
  position = vec2((gl_VertexIndex << 1) & 2, gl_VertexIndex & 2) * 2.0 - 1.0;
  gl_Position = vec4(position, depth, 1.0);
}
