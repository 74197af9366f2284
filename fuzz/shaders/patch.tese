#version 450
layout(triangles, equal_spacing, cw) in;
layout(location = 0) in vec4 control[];
layout(location = 0) out vec4 colour;
void main() {
  vec4 sum = vec4(0);
  for (int i = 0; i < gl_PatchVerticesIn; ++i) sum += control[i] * gl_TessCoord[i % 3];
  colour = sum;
  gl_Position = sum;
}
