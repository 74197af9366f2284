#version 450
layout(location = 0) in vec2 position;
layout(location = 0) out vec4 color;

void main() {
  float plank = fract(position.y * 6.0);
  color = vec4(vec3(0.5, 0.3, 0.1) * plank, 1.0);
}
