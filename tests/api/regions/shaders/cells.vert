#version 450
// A grid of 8x8-pixel cells with one triangle each: the cell's lower left half, corners on pixel corners. Triangle i is in
// cell i, row by row. All instances are the same.
layout(push_constant) uniform Push {
  vec4 unused;
  vec2 target;  // size of the target
};

void main() {
  const int columns = int(target.x) / 8;
  const int cell = gl_VertexIndex / 3;
  const int corner = gl_VertexIndex % 3;
  const vec2 at = 8.0 * (vec2(cell % columns, cell / columns) + vec2(corner == 2, corner != 0));
  gl_Position = vec4(at / target * 2.0 - 1.0, 0.5, 1.0);
}
