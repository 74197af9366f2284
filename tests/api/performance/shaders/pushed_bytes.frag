#version 450
// The pixel's four bytes are what was pushed.
layout(push_constant) uniform Push { uint bytes; };
layout(location = 0) out vec4 color;

void main() { color = unpackUnorm4x8(bytes); }
