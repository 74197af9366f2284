#version 450
// 64 multiply-adds in each iteration, each of which needs the one before.
layout(local_size_x = 64) in;
layout(binding = 0) buffer Words { float words[]; };
layout(push_constant) uniform Numbers { uint iterations; };

#define STEP a = fma(a, 0.999, 0.5);
#define STEPS STEP STEP STEP STEP STEP STEP STEP STEP

void main() {
  float a = words[gl_LocalInvocationID.x];
  for (uint i = 0; i < iterations; ++i) {
    STEPS STEPS STEPS STEPS STEPS STEPS STEPS STEPS
  }
  words[gl_LocalInvocationID.x] = a;
}
