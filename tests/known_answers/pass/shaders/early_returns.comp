#version 450
// Many consecutive early returns, with so little code between them that llvmpipe merges them into
// straight-line code.
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) buffer Values { uint values[]; };

#define STEP(k) if (x == (k)) return;
#define STEPS(k) \
  STEP(k) STEP(k + 1u) STEP(k + 2u) STEP(k + 3u) STEP(k + 4u) \
  STEP(k + 5u) STEP(k + 6u) STEP(k + 7u) STEP(k + 8u) STEP(k + 9u)

void main() {
  uint x = gl_GlobalInvocationID.x % 128u;
  STEPS(0u) STEPS(10u) STEPS(20u) STEPS(30u) STEPS(40u) STEPS(50u)
  values[gl_GlobalInvocationID.x] = x + 5u;
}
