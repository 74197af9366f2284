#version 450
layout(triangles, equal_spacing) in;
layout(location = 0) in vec3 weight[];
void main() {
  vec4 position = vec4(0);
  for (int i = 0; i < 3; ++i) position += gl_TessCoord[i] * gl_in[i].gl_Position;
  if (weight[0].x > 2) position.z = 0.5;
  gl_Position = position;
}
