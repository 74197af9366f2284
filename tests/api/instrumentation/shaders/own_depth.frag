#version 450
layout(location = 0) in vec4 of_vertex;
layout(location = 0) out vec4 color;

void main() {
  gl_FragDepth = of_vertex.x;
  color = of_vertex;
}
