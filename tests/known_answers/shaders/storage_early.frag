#version 450
layout(early_fragment_tests) in;
layout(set = 0, binding = 0) buffer Counter { uint counter; };
layout(location = 0) out vec4 color;

void main() {
  atomicAdd(counter, 1);
  color = vec4(1.0);
}
