#version 450
// One quad per instance, four texels high and as wide as the 64x64 viewport: in row instance % 16
// for the first 16 instances of each 1024, outside the image for the others.
layout(push_constant) uniform Push { uint add; };
layout(location = 1) flat out uint number;

void main() {
  const uint instance = uint(gl_InstanceIndex);
  const float row = (instance & 1023u) < 16u ? float(instance & 15u) : 100.0;
  const vec2 corner = vec2(gl_VertexIndex % 3 == 1 ? 1 : 0, gl_VertexIndex % 3 == 2 ? 1 : 0);
  const vec2 place = gl_VertexIndex < 3 ? corner : 1.0 - corner;
  gl_Position = vec4(place.x * 2.0 - 1.0, (row + place.y) / 8.0 - 1.0, 0.5, 1.0);
  number = instance + add;
}
