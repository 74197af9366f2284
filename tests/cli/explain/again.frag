#version 450
layout(location = 0) out vec4 colour;
void main() { colour = vec4(sin(gl_FragCoord.x), cos(gl_FragCoord.y), 0, 1); }
