#version 460
layout(std430, set = 0, binding = 0) buffer Values { uint values[]; };
void main() {
  atomicAdd(values[min(uint(gl_InstanceIndex), values.length() - 1)], uint(gl_BaseInstance) + 1u);
  gl_Position = vec4(0, 0, 0, 1);
  gl_PointSize = 1;
}
