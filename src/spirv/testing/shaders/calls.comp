#version 450
// Functions that several calls share: how often their lines run does not depend on what is inlined.
#extension GL_EXT_control_flow_attributes : require
#ifndef LOOP
#define LOOP
#endif
layout(local_size_x = 1) in;
layout(binding = 0) buffer Data { uint data[]; };

uint odd_step(uint x) {
  uint y = x * 3u + 1u;
  if ((y & 4u) != 0u)
    y ^= data[0];
  return y;
}

uint two_steps(uint x) {
  return odd_step(x) + odd_step(x + 1u);
}

void main() {
  uint i = gl_GlobalInvocationID.x;
  uint sum = data[i];
  for (uint k = 0u; k < i; ++k) {
    sum += odd_step(sum + k);
  }
  LOOP for (uint k = 0u; k < 4u; ++k) {
    if ((sum & 1u) != 0u)
      sum += two_steps(sum + k);
    sum = sum * 5u + k;
  }
  data[i] = sum;
}
