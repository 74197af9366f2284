#version 450
// Alpha rises from 0 to 1 from left to right.
layout(location = 0) out vec4 color;

void main() { color = vec4(1.0, 1.0, 1.0, gl_FragCoord.x / 64.0); }
