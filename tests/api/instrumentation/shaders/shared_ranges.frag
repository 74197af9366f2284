#version 450
// Reads bytes 16 to 32 of the push constants.
layout(push_constant) uniform Push { layout(offset = 16) vec4 tint; };
layout(location = 0) out vec4 color;

void main() { color = tint; }
