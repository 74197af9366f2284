#version 450
layout(constant_id = 0) const float limit = 32;
layout(location = 0) out vec4 colour;
void main() {
  float light = 0;
  for (int i = 0; i < 24; ++i) {
    light += 1 + abs(sin(gl_FragCoord.x));
    if (light > limit) break;
  }
  colour = vec4(light);
}
