#version 450
layout(location = 0) in vec2 position;
layout(location = 0) out vec4 color;
layout(set = 0, binding = 0) uniform sampler2D grass;

void main() {
  vec4 blades = texture(grass, position * 4.0);
  float light = 0.6 + 0.4 * position.x;
  color = blades * light;
}
