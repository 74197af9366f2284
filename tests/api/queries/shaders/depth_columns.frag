#version 450
// Writes depth 0.25 in even columns and 0.75 in odd ones.
layout(location = 0) out vec4 color;

void main() {
  color = vec4(1.0);
  gl_FragDepth = (int(gl_FragCoord.x) & 1) == 0 ? 0.25 : 0.75;
}
