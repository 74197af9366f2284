#version 450
// Kills every second column, behind the tests.
layout(early_fragment_tests) in;
layout(location = 0) out vec4 color;

void main() {
  if ((int(gl_FragCoord.x) & 1) == 0) discard;
  color = vec4(1.0);
}
