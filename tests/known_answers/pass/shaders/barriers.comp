#version 450
// Some subgroups return before a barrier, so they end in another order than they begin.
layout(local_size_x = 70) in;
layout(set = 0, binding = 0) buffer Values { uint values[]; };
shared uint sums[70];

void main() {
  uint i = gl_LocalInvocationIndex;
  sums[i] = i;
  if (i % 32u >= 16u) return;
  barrier();
  for (uint round = 0u; round < i % 3u; ++round)
    values[gl_WorkGroupID.x * 70u + i] += sums[i ^ 1u] + round;
}
