#version 450
layout(location = 0) out vec4 color;
layout(std430, set = 0, binding = 0) buffer Sum { uint sum; };
void main() { color = vec4(1); if (!gl_HelperInvocation) atomicAdd(sum, 1); }
