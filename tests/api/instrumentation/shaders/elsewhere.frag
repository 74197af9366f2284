#version 450
// There is no attachment for its output.
layout(location = 0) in vec4 of_vertex;
layout(location = 2) out vec4 color;

void main() { color = of_vertex; }
