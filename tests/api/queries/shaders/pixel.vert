#version 450
// Two triangles that cover one pixel of a 64 x 64 target: instance i covers pixel (i % 64, i / 64).
void main() {
  const uint corners[6] = uint[](0u, 1u, 2u, 2u, 1u, 3u);
  const uint corner = corners[gl_VertexIndex];
  const uint pixel = uint(gl_InstanceIndex);
  const vec2 at = vec2(pixel % 64u + (corner & 1u), pixel / 64u + (corner >> 1));
  gl_Position = vec4(at / 32.0 - 1.0, 0.5, 1.0);
}
