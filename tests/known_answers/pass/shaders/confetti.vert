#version 450
// Many small triangles at pseudo-random positions: most fragments are next to helpers.
layout(location = 0) out vec2 uv;
layout(location = 1) flat out int kind;
uint hash(uint n) {
  n = (n ^ 61u) ^ (n >> 16);
  n *= 9u;
  n ^= n >> 4;
  n *= 0x27d4eb2du;
  return n ^ (n >> 15);
}
void main() {
  uint triangle = uint(gl_VertexIndex) / 3;
  uint h = hash(triangle), corner = hash(uint(gl_VertexIndex) * 7u + 1u);
  vec2 centre = vec2(h & 0xffffu, h >> 16) / 65535.0 * 2.0 - 1.0;
  vec2 offset = (vec2(corner & 0xffffu, corner >> 16) / 65535.0 - 0.5) * 0.12;
  uv = offset * 8.0 + 0.5;
  kind = int(triangle);
  gl_Position = vec4(centre + offset, float(h % 100u) * 0.01, 1);
}
