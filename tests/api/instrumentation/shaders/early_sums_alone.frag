#version 450
layout(early_fragment_tests) in;
layout(location = 1) flat in uint number;
layout(set = 0, binding = 1) buffer Sums { uint sums[4]; };

void main() {
  atomicAdd(sums[0], 1u);
  atomicAdd(sums[1], number);
}
