#version 450
// Small triangles all over the target: many subgroups with helper lanes in them.
float random(uint n) {
  n = (n ^ 61u) ^ (n >> 16);
  n *= 9u;
  n ^= n >> 4;
  n *= 0x27d4eb2du;
  n ^= n >> 15;
  return float(n & 0xffffu) / 65535.0;
}

void main() {
  const uint triangle = uint(gl_VertexIndex) / 3u;
  const uint corner = uint(gl_VertexIndex) % 3u;
  const vec2 middle = vec2(random(triangle * 2u), random(triangle * 2u + 1u)) * 1.9 - 0.95;
  const float angle = 2.0944 * float(corner) + 6.2831 * random(triangle + 77777u);
  gl_Position = vec4(middle + 0.02 * vec2(cos(angle), sin(angle)), 0.5, 1.0);
}
