#version 450
layout(location = 0) in vec4 of_vertex;
layout(location = 1) flat in uint number;
layout(location = 0) out vec4 color;

void main() { color = of_vertex + vec4(number & 15u) / 64.0; }
