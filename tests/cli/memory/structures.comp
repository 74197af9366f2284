#version 450
// Reads two members of structures in an array, and the same as arrays of members.
layout(local_size_x = 64) in;
struct Particle { float x, y, z, w; };
layout(set = 0, binding = 0) readonly buffer Values { Particle particles[4096]; float xs[4096]; float ys[4096]; };
layout(set = 0, binding = 1) writeonly buffer Sums { float sums[]; };

void main() {
  const uint id = gl_GlobalInvocationID.x;
  float sum = particles[id].x;
  sum += particles[id].y;
  sum += xs[id];
  sum += ys[id];
  sums[id] = sum;
}
