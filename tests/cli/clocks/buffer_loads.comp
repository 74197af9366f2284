#version 450
// 64 loads of a buffer in each iteration, each from where the one before says.
layout(local_size_x = 64) in;
layout(binding = 0) buffer Words { uint words[]; };
layout(push_constant) uniform Numbers { uint iterations; };

#define STEP at = words[64 + at];
#define STEPS STEP STEP STEP STEP STEP STEP STEP STEP

void main() {
  uint at = gl_LocalInvocationID.x;
  for (uint i = 0; i < iterations; ++i) {
    STEPS STEPS STEPS STEPS STEPS STEPS STEPS STEPS
  }
  words[gl_LocalInvocationID.x] = at;
}
