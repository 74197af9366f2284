// An arithmetic-heavy fragment: several octaves of noise, a loop over lights with an early exit, a discard.
#version 450
layout(location = 0) in vec2 at;
layout(location = 0) out vec4 colour;
layout(push_constant) uniform Push { float time; uint octaves; uint lights; };

float hash(vec2 p) { return fract(sin(dot(p, vec2(12.9898, 78.233))) * 43758.5453); }

float noise(vec2 p) {
  vec2 cell = floor(p), f = fract(p);
  f = f * f * (3.0 - 2.0 * f);
  return mix(mix(hash(cell), hash(cell + vec2(1, 0)), f.x),
             mix(hash(cell + vec2(0, 1)), hash(cell + vec2(1, 1)), f.x), f.y);
}

void main() {
  float height = 0.0, weight = 0.5;
  vec2 p = at * 8.0 + time;
  for (uint i = 0; i < octaves; ++i) {
    height += weight * noise(p);
    p *= 2.03;
    weight *= 0.5;
  }
  if (height < 0.05) discard;
  vec3 light = vec3(0.1);
  for (uint i = 0; i < lights; ++i) {
    vec2 to = vec2(fract(float(i) * 0.618), fract(float(i) * 0.414)) - at;
    float distance2 = dot(to, to) + height * 0.01;
    if (distance2 > 0.3) continue;
    light += vec3(0.01, 0.008, 0.005) / distance2;
    if (light.x > 2.0) break;
  }
  colour = vec4(light * height, 1) * 0.25;
}
