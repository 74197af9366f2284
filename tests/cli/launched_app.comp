#version 450
layout(local_size_x = 64) in;
shared uint sums[64];

void main() {
  uint sum = 0;
  for (uint i = 0; i < 10; ++i)
    sum += i * gl_LocalInvocationIndex;
  if (gl_LocalInvocationIndex < 16)
    sums[gl_LocalInvocationIndex] = sum;
}
