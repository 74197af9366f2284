#version 450
// Uses derivatives, so helper invocations run, too.
layout(location = 0) out vec4 color;

void main() {
  const vec2 slope = dFdx(gl_FragCoord.xy);
  color = vec4(slope, 0.0, 1.0);
  if ((int(gl_FragCoord.x) & 1) == 0) {
    color.z = 1.0;  // @even
  } else {
    color.z = 0.5;  // @odd
  }
}
