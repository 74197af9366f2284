#version 450
layout(constant_id = 0) const float width = 32;
layout(location = 0) out vec4 colour;
float tint(float x) { return sqrt(x) * 0.5; }
void main() {
  float light = cos(gl_FragCoord.y);
  if (gl_FragCoord.x < width) light += tint(gl_FragCoord.x);
  colour = vec4(light);
}
