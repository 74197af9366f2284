#version 450
// Reads bytes 0 to 8 of the push constants.
layout(push_constant) uniform Push { vec2 scale; };

void main() {
  const vec2 corner = vec2(gl_VertexIndex & 1, gl_VertexIndex >> 1) * 4.0 - 1.0;
  gl_Position = vec4(corner * scale, 0.5, 1.0);
}
