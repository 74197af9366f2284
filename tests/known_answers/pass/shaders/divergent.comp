#version 450
#extension GL_KHR_shader_subgroup_basic : require
// Lanes of a subgroup part at known places: one lane alone, half of them, whole subgroups, and a loop that each lane runs
// once more than the lane before.
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) buffer Values { uint values[]; };

void main() {
  const uint lane = gl_SubgroupInvocationID;
  uint sum = lane;
  if (lane == 0) sum += 7;
  if (lane % 2 == 0) sum *= 3;
  if (gl_SubgroupID % 2 == 0) sum += 5;
  for (uint k = 0; k <= lane; ++k) sum ^= sum << 1;
  values[gl_GlobalInvocationID.x] = sum;
}
