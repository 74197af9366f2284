// Denoising by non-local means: averages pixels whose neighbourhoods look alike.
#version 450
layout(local_size_x = 16, local_size_y = 16) in;
layout(set = 0, binding = 3) writeonly buffer Output { vec4 result[]; };
layout(set = 0, binding = 4) uniform sampler2D frame;
layout(push_constant) uniform Push { int research; int patch_radius; float strength; };

vec3 pixel(ivec2 at, ivec2 size) { return texelFetch(frame, clamp(at, ivec2(0), size - 1), 0).rgb; }

float unlikeness(ivec2 a, ivec2 b, ivec2 size) {
  float sum = 0.0;
  for (int y = -patch_radius; y <= patch_radius; ++y) {
    for (int x = -patch_radius; x <= patch_radius; ++x) {
      const vec3 difference = pixel(a + ivec2(x, y), size) - pixel(b + ivec2(x, y), size);
      sum += dot(difference, difference);
    }
  }
  return sum;
}

void main() {
  const ivec2 size = textureSize(frame, 0), at = ivec2(gl_GlobalInvocationID.xy);
  if (at.x >= size.x || at.y >= size.y) return;
  vec3 sum = pixel(at, size);
  float weights = 1.0;
  for (int y = -research; y <= research; ++y) {
    for (int x = -research; x <= research; ++x) {
      if (x == 0 && y == 0) continue;
      const ivec2 other = at + ivec2(x, y);
      const float d = unlikeness(at, other, size);
      if (d > strength) continue;
      const float weight = exp(-4.0 * d / strength);
      sum += pixel(other, size) * weight;
      weights += weight;
    }
  }
  result[at.y * size.x + at.x] = vec4(sum / weights, 1.0);
}
