#version 450
layout(vertices = 3) out;
layout(location = 0) in vec3 in_position[];
layout(location = 0) out vec3 out_position[];
void main() {
  out_position[gl_InvocationID] = in_position[gl_InvocationID];
  barrier();
  if (gl_InvocationID == 0) {
    float level = length(out_position[0] - out_position[1]);
    gl_TessLevelOuter[0] = gl_TessLevelOuter[1] = gl_TessLevelOuter[2] = level;
    gl_TessLevelInner[0] = level * 0.5;
  }
}
