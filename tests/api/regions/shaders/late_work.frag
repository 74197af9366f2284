#version 450
// Does much work in the right half of 128 pixels, little in the left half.
layout(location = 0) out vec4 color;

void main() {
  float value = gl_FragCoord.y;
  const int loops = gl_FragCoord.x < 64.0 ? 1 : 500;
  for (int i = 0; i < loops; ++i) value = sqrt(value + float(i));
  color = vec4(value);
}
