#version 450
// Kills every second fragment, in a checkerboard.
layout(location = 0) out vec4 color;

void main() {
  const ivec2 at = ivec2(gl_FragCoord.xy);
  if (((at.x + at.y) & 1) == 0) {
    discard;  // @killed
  }
  color = vec4(1.0);  // @kept
}
