#version 450
layout(vertices = 3) out;
layout(location = 0) in vec4 colour[];
layout(location = 0) out vec4 control[];
void main() {
  control[gl_InvocationID] = colour[gl_InvocationID];
  barrier();
  if (gl_InvocationID == 0) {
    for (int i = 0; i < 3; ++i) gl_TessLevelOuter[i] = control[i].x;
    gl_TessLevelInner[0] = 2.0;
  }
}
