#version 450
layout(location = 0) in vec2 position;
layout(location = 0) out vec4 color;

vec3 glow(float distance) {
  float falloff = 1.0 / (1.0 + 8.0 * distance * distance);
  return vec3(1.0, 0.8, 0.5) * falloff;
}

void main() {
  float away = length(position);
  color = vec4(0.0);
  if (away > 0.5) return;
  float flicker = 0.9 + 0.1 * sin(40.0 * position.y);
  color = vec4(glow(away) * flicker, 1.0);
}
