// Vertices at random places, without a branch. Included.
layout(push_constant) uniform Push {
  uint seed;
  float spread;   // of the places; above 1 also outside of the viewport
  float snap;     // places in a spread, so that triangles share edges or have no area
  float nearness; // above 1: some vertices are behind the near plane
  float cover;    // 1: every three vertices cover the viewport
};
layout(location = 0) out vec4 color;
layout(location = 1) flat out uint number;
layout(location = 2) out vec2 at;

float random(uint n) {
  n = (n ^ 61u) ^ (n >> 16);
  n *= 9u;
  n ^= n >> 4;
  n *= 0x27d4eb2du;
  n ^= n >> 15;
  return float(n & 0xffffu) / 65535.0;
}

vec4 place(uint vertex, uint instance) {
  const uint from = seed + vertex * 8u + instance * 4096u;
  const vec2 scattered = (floor(vec2(random(from), random(from + 1u)) * snap) / snap * 2.0 - 1.0) * spread;
  const uint corner = vertex % 3u;
  const vec2 covering = vec2(corner & 1u, corner >> 1) * 4.0 - 1.0;
  const float w = mix(1.0 + nearness * (random(from + 2u) - 0.5), 1.0, cover);
  color = vec4(random(from + 3u), random(from + 4u), random(from + 5u), random(from + 6u));
  number = from;
  const vec2 xy = mix(scattered, covering, cover);
  at = xy * 0.5 + 0.5;
  return vec4(xy, random(from + 7u) * 1.2 - 0.1, w);
}
