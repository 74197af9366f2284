#version 450
layout(vertices = 3) out;
layout(location = 0) out vec3 weight[];
void main() {
  gl_out[gl_InvocationID].gl_Position = gl_in[gl_InvocationID].gl_Position;
  weight[gl_InvocationID] = vec3(gl_PrimitiveID);
  barrier();
  if (gl_InvocationID != 0) return;
  for (int i = 0; i < 3; ++i) gl_TessLevelOuter[i] = weight[i].x > 3 ? 2 : 4;
  gl_TessLevelInner[0] = 3;
}
