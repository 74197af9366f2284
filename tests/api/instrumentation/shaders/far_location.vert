#version 450
// A triangle over the whole viewport. No location is left after its output.
layout(location = 30) out vec4 last;

void main() {
  const vec2 corner = vec2(gl_VertexIndex & 1, gl_VertexIndex >> 1) * 4.0 - 1.0;
  gl_Position = vec4(corner, 0.5, 1.0);
  last = vec4(corner, gl_InstanceIndex, 1.0);
}
