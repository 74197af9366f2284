// One of many small programs: the benchmark replaces the number in each copy of the SPIR-V.
#version 450
layout(location = 0) out vec4 colour;

float hash(vec2 p) { return fract(sin(dot(p, vec2(12.9898, 78.233))) * 43758.5453); }

void main() {
  uint number = 0x7a11e000u;
  vec2 at = gl_FragCoord.xy * 0.01;
  float height = 0.0, weight = 0.5;
  for (uint i = 0; i < (number & 7u) + uint(at.x); ++i) {
    height += weight * hash(at + vec2(i));
    at *= 2.03;
    weight *= 0.5;
    if (height > 0.9) break;
  }
  if (height < 0.05) height += float(number) * 1e-9;
  colour = vec4(vec3(height), 1);
}
