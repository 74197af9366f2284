#version 450
#extension GL_EXT_demote_to_helper_invocation : require
// Demotes every second column to helpers, which continue but no longer count.
layout(location = 0) out vec4 color;

void main() {
  const ivec2 at = ivec2(gl_FragCoord.xy);
  vec2 value = gl_FragCoord.xy;
  if ((at.x & 1) == 0) {
    demote;  // @demoted
  }
  if (at.y < 1000) {
    value = dFdx(value);  // @after
  }
  color = vec4(value, 0.0, 1.0);
}
