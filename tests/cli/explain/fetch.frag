#version 450
layout(constant_id = 0) const float taps = 2;
layout(binding = 0) readonly buffer Values { vec4 values[]; };
layout(location = 0) out vec4 colour;
void main() {
  colour = vec4(0);
  for (int i = 0; i < int(taps); ++i) colour += values[(int(gl_FragCoord.x) + i) & 63];
}
