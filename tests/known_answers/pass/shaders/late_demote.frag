#version 450
#extension GL_EXT_demote_to_helper_invocation : require
// Short enough for demotions that wait until the end. Some invocations are demoted twice, some killed after it.
layout(location = 0) out vec4 color;
int third(int x) {
  if (x % 3 == 1) demote;
  return x / 3;
}
void main() {
  int x = int(gl_FragCoord.x), y = int(gl_FragCoord.y);
  int n = third(x) + third(y);
  if (((x ^ y) & 4) == 4) demote;
  if (x < 2) discard;
  if (y > 3) n += x;
  color = vec4(n) + fwidth(float(n));
}
