#version 450
// The test writes other modes over these.
layout(triangles, equal_spacing, cw, point_mode) in;
void main() {
  gl_Position = vec4(gl_TessCoord.xy * 2 - 1, 0.5, 1);
  gl_PointSize = 1;
}
