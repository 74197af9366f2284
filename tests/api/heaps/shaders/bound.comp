#version 450
// As work.comp, but the summand is in a block.
layout(local_size_x = 8) in;
layout(set = 0, binding = 0) buffer Values { uint at[]; };
layout(set = 0, binding = 1) uniform Summand { uint add; };

void main() {
  const uint i = gl_GlobalInvocationID.x;
  if ((i & 1) != 0) {
    at[i] += 2 * add;
  }
  at[i] += add;
}
