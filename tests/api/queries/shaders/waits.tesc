#version 450
// The same levels; each invocation returns in a different iteration of a loop, by the same return.
layout(vertices = 3) out;
layout(push_constant) uniform Push { float outer[4]; float inner[2]; };

void main() {
  for (int turn = 0;; ++turn) {
    if (turn != gl_InvocationID) continue;
    if (turn == 1) {
      for (int i = 0; i < 4; ++i) gl_TessLevelOuter[i] = outer[i];
    } else if (turn == 2) {
      gl_TessLevelInner[0] = inner[0];
      gl_TessLevelInner[1] = inner[1];
    }
    return;
  }
}
