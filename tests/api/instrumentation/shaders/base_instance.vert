#version 460
// Like rows.vert, but passes the index of the first instance, and the instance's own index as well.
layout(location = 1) flat out uint number;

void main() {
  const uint instance = uint(gl_InstanceIndex);
  const float row = (instance & 1023u) < 16u ? float(instance & 15u) : 100.0;
  const vec2 corner = vec2(gl_VertexIndex % 3 == 1 ? 1 : 0, gl_VertexIndex % 3 == 2 ? 1 : 0);
  const vec2 place = gl_VertexIndex < 3 ? corner : 1.0 - corner;
  gl_Position = vec4(place.x * 2.0 - 1.0, (row + place.y) / 8.0 - 1.0, 0.5, 1.0);
  number = uint(gl_BaseInstance) << 8 | (instance & 255u);
}
