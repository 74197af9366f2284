#version 450
// Reads 20 bytes of push constants, and uniform blocks of 48 and of 16 bytes.
layout(push_constant) uniform Push {
  vec4 pushed;
  float last;
};
layout(set = 1, binding = 2) uniform Block { vec4 uniforms[3]; };
layout(set = 1, binding = 3) uniform Other { vec4 other; };
layout(set = 0, binding = 0) buffer Result { vec4 result; };

void main() { result = pushed + last + uniforms[2] + other; }
