// The corners of the patches of a terrain.
#version 450
layout(push_constant) uniform Push { float time; int columns; float detail; };
void main() {
  const ivec2 corner = ivec2(gl_VertexIndex & 1, gl_VertexIndex >> 1 & 1);
  const ivec2 cell = ivec2(gl_InstanceIndex % columns, gl_InstanceIndex / columns);
  gl_Position = vec4((vec2(cell + corner)) / float(columns) * 2.0 - 1.0, 0, 1);
}
