#version 450
// Loads, stores and atomics of images of 64 x 64 texels.
layout(local_size_x = 64) in;
layout(set = 0, binding = 0, rgba8) uniform image2D picture;
layout(set = 0, binding = 1, r32ui) uniform uimage2D sums;

void main() {
  const int lane = int(gl_LocalInvocationID.x), group = int(gl_WorkGroupID.x);
  imageStore(picture, ivec2(lane, group), vec4(1));
  const vec4 half_of = imageLoad(picture, ivec2(lane / 2, group));
  imageAtomicAdd(sums, ivec2(lane % 4, group), uint(half_of.x));
}
