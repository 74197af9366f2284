#version 450
layout(location = 0) in vec2 corner;
layout(location = 1) in vec3 tint;
layout(location = 0) out vec4 color;

void main() {
  const float r2 = dot(corner, corner);
  if (r2 > 1.0) discard;
  color = vec4(tint * 0.5 * pow(1.0 - r2, 3.0), 0.0);
}
