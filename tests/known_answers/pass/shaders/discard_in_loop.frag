#version 450
// Leaves its loop by a discard in every second column.
layout(location = 0) out vec4 color;
void main() {
  float sum = 0.0;
  for (int i = 0; i < 8; ++i) {
    if (i == 3 && int(gl_FragCoord.x) % 2 == 0) discard;
    sum += gl_FragCoord.y;
  }
  color = vec4(sum);
}
