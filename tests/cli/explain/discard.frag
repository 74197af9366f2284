#version 450
layout(constant_id = 0) const float width = 32;
layout(location = 0) out vec4 colour;
void main() {
  const float light = sin(gl_FragCoord.x * gl_FragCoord.y);
  if (gl_FragCoord.x < width) discard;
  colour = vec4(light);
}
