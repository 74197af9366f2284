#version 450
// Eight invocations a workgroup, with as many rounds as the push constant says.
layout(local_size_x = 8) in;
layout(push_constant) uniform Push { uint rounds; };
shared uint sums[8];

void main() {
  uint sum = 0;
  for (uint i = 0; i < rounds; ++i) {
    sum = sum * 3 + (sum >> 2) + i;  // @round
  }
  sums[gl_LocalInvocationIndex] = sum;
}
