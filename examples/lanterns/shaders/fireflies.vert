#version 450
// One quad of four vertices per firefly. The quads overlap intentionally.
layout(location = 0) out vec2 corner;
layout(location = 1) out vec3 tint;
layout(push_constant) uniform Frame {
  float aspect;
  float time;
};

float random(uint n) {
  n = (n ^ 61u) ^ (n >> 16);
  n *= 9u;
  n ^= n >> 4;
  n *= 0x27d4eb2du;
  n ^= n >> 15;
  return float(n & 0xffffu) / 65535.0;
}

void main() {
  const uint fly = uint(gl_InstanceIndex) * 5u;
  corner = vec2(gl_VertexIndex & 1, gl_VertexIndex >> 1) * 2.0 - 1.0;
  const float phase = 6.2831 * random(fly + 2u);
  const vec2 drift = 0.06 * vec2(sin(time + phase), cos(0.7 * time + phase));
  const vec2 middle = vec2(random(fly), random(fly + 1u)) * 2.0 - 1.0 + drift;
  const float size = mix(0.01, 0.07, pow(random(fly + 3u), 4.0));
  tint = mix(vec3(1.0, 0.6, 0.2), vec3(0.5, 0.9, 0.4), random(fly + 4u)) * (0.5 + 0.5 * sin(2.0 * time + phase));
  gl_Position = vec4(middle + corner * size * vec2(1.0 / aspect, 1.0), 0.0, 1.0);
}
