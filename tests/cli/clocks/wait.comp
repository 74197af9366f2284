#version 450
// The first 32 invocations run the loop of chain.comp; the others wait for them at a barrier.
layout(local_size_x = 64) in;
layout(binding = 0) buffer Words { float words[]; };
layout(push_constant) uniform Numbers { uint iterations; };

#define STEP a = fma(a, 0.999, 0.5);
#define STEPS STEP STEP STEP STEP STEP STEP STEP STEP

// With as many instructions as a function needs to be timed.
float wait_for_all(float a) {
  barrier();
  STEPS STEPS STEPS STEPS
  return a;
}

void main() {
  float a = words[gl_LocalInvocationID.x];
  if (gl_LocalInvocationID.x < 32) {
    for (uint i = 0; i < iterations; ++i) {
      STEPS STEPS STEPS STEPS STEPS STEPS STEPS STEPS
    }
  }
  words[gl_LocalInvocationID.x] = wait_for_all(a);
}
