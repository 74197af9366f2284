#version 450
layout(location = 0) out vec4 color;

void main() {
  color = vec4(0.0);
  for (int i = 0; i < 5; ++i) color += vec4(0.2, 0.1, 0.0, 0.2);
}
