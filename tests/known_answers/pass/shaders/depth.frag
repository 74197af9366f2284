#version 450
layout(location = 0) out vec4 color;
void main() { color = vec4(1); gl_FragDepth = gl_FragCoord.x > 8 ? 0.25 : 0.75; }
