#version 450
// Copies the last of 256 bytes of push constants.
layout(local_size_x = 1) in;
layout(set = 0, binding = 0) buffer Values { uint value; };
layout(push_constant) uniform Constants { layout(offset = 252) uint last; };

void main() { value = last; }
