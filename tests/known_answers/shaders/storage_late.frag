#version 450
// Has a side effect: without the layout qualifier the depth test runs after the shader.
layout(set = 0, binding = 0) buffer Counter { uint counter; };
layout(location = 0) out vec4 color;

void main() {
  atomicAdd(counter, 1);
  color = vec4(1.0);
}
