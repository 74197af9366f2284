#version 450
// The six levels, written by two invocations; a third one ends early.
layout(vertices = 3) out;
layout(push_constant) uniform Push { float outer[4]; float inner[2]; };

void main() {
  if (gl_InvocationID == 0) return;
  if (gl_InvocationID == 1) {
    for (int i = 0; i < 4; ++i) gl_TessLevelOuter[i] = outer[i];
  } else {
    gl_TessLevelInner[0] = inner[0];
    gl_TessLevelInner[1] = inner[1];
  }
}
