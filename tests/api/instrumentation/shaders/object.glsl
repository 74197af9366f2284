// Interface of the shaders of random shader objects. Included.
// kMode: what a shader does besides.
const uint kWrites = 1u, kBranches = 2u, kUneven = 4u, kAttributes = 8u;
layout(constant_id = 0) const uint kMode = 0;
layout(push_constant) uniform Push {
  uint seed;
  float spread;
  float level;
  uint copies;
};
layout(set = 0, binding = 0) buffer Sums { uint sums[]; };

uint hash(uint n) {
  n = (n ^ 61u) ^ (n >> 16);
  n *= 9u;
  n ^= n >> 4;
  n *= 0x27d4eb2du;
  return n ^ (n >> 15);
}
#define HAS(mode) ((kMode & mode) != 0u)
// A multiple of 1/16 from -1 to 1, so that sums are exact.
float cell(uint n) { return float(hash(n) % 33u) / 16.0 - 1.0; }
float depth_of(uint n) { return float(hash(n) & 255u) / 256.0; }
vec4 color_of(uint n) { return vec4(uvec4(hash(n), hash(n + 1u), hash(n + 2u), hash(n + 3u)) & 15u) / 16.0; }
