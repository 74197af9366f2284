// The vertices of the render passes of `tally calibrate`: the first three make a triangle that covers the picture; all
// others are one point, so their triangles have no area.
#version 460

void main() {
  const vec2 corner = vec2(gl_VertexIndex & 1, gl_VertexIndex >> 1) * 4.0 - 1.0;
  gl_Position = gl_VertexIndex < 3 ? vec4(corner, 0.0, 1.0) : vec4(0.0, 0.0, 0.0, 1.0);
}
