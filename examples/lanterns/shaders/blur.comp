#version 450
// One direction of a Gaussian blur of the bright areas; a workgroup shares a row of texels.
layout(local_size_x = 64) in;
layout(constant_id = 0) const int kRadius = 12;
layout(set = 0, binding = 0, rgba16f) uniform readonly image2D source;
layout(set = 0, binding = 1, rgba16f) uniform writeonly image2D target;
layout(push_constant) uniform Step {
  ivec2 direction;
  float threshold;
};

shared vec3 row[64 + 2 * 16];

vec3 bright(ivec2 at) {
  const vec3 texel = imageLoad(source, clamp(at, ivec2(0), imageSize(source) - 1)).rgb;
  return max(texel - threshold, 0.0);
}

void main() {
  const int i = int(gl_LocalInvocationID.x);
  const int along = int(gl_GlobalInvocationID.x);
  const ivec2 across = (ivec2(1) - direction) * int(gl_WorkGroupID.y);
  row[i + kRadius] = bright(across + direction * along);
  if (i < kRadius) {
    row[i] = bright(across + direction * (along - kRadius));
    row[i + 64 + kRadius] = bright(across + direction * (along + 64));
  }
  barrier();

  vec3 sum = vec3(0.0);
  float weights = 0.0;
  for (int k = -kRadius; k <= kRadius; ++k) {
    const float weight = exp(-4.5 * float(k * k) / float(kRadius * kRadius));
    sum += weight * row[i + kRadius + k];
    weights += weight;
  }
  const ivec2 at = across + direction * along;
  if (all(lessThan(at, imageSize(target)))) imageStore(target, at, vec4(sum / weights, 1.0));
}
