// The worst case for counting: a loop of a few instructions with divergent branches, arithmetic only, and a
// single store at the end. An escape-time fractal with two kinds of interior points.
#version 450
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) writeonly buffer Result { uint result[]; };
layout(push_constant) uniform Push { uint width; uint iterations; };

void main() {
  uint index = gl_GlobalInvocationID.x;
  vec2 at = vec2(index % width, index / width) / float(width) * 3.0 - vec2(2.2, 1.5);
  vec2 z = vec2(0);
  uint left = 0, right = 0;
  for (uint i = 0; i < iterations; ++i) {
    z = vec2(z.x * z.x - z.y * z.y, 2.0 * z.x * z.y) + at;
    if (z.x < at.x) {
      left += i;
    } else if (z.y > 0.0) {
      right ^= i * 3;
    }
    if (dot(z, z) > 4.0) z = at * 0.5;
  }
  result[index] = left + right;
}
