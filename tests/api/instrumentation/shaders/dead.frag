#version 450
layout(location = 0) out vec4 color;

void main() {
  vec4 nothing;
  color = nothing;
}
