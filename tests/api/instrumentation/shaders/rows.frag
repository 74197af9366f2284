#version 450
// Outputs the bytes of the number. Odd numbers take a different branch.
layout(location = 1) flat in uint number;
layout(location = 0) out vec4 color;

void main() {
  uvec4 bytes = uvec4(number, number >> 8, number >> 16, number >> 24) & 255u;
  if ((number & 1u) != 0u) bytes = bytes.yzwx;
  color = vec4(bytes) / 255.0;
}
