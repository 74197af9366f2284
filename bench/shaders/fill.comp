// Pseudo-random numbers between -1 and 1.
#version 450
layout(local_size_x = 256) in;
layout(set = 0, binding = 0) writeonly buffer Result { float result[]; };
layout(push_constant) uniform Push { uint count; uint seed; };

void main() {
  uint i = gl_GlobalInvocationID.x;
  if (i >= count) return;
  uint h = (i + seed) * 747796405u + 2891336453u;
  h = ((h >> ((h >> 28u) + 4u)) ^ h) * 277803737u;
  result[i] = float(h >> 8) / float(1 << 23) - 1.0;
}
