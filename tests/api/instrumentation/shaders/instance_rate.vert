#version 450
// Like rows.vert, but reads the number from an attribute.
layout(location = 0) in uint value;
layout(location = 1) flat out uint number;

void main() {
  const vec2 corner = vec2(gl_VertexIndex % 3 == 1 ? 1 : 0, gl_VertexIndex % 3 == 2 ? 1 : 0);
  const vec2 place = gl_VertexIndex < 3 ? corner : 1.0 - corner;
  const float row = float(gl_InstanceIndex & 15);
  gl_Position = vec4(place.x * 2.0 - 1.0, (row + place.y) / 8.0 - 1.0, 0.5, 1.0);
  number = value;
}
