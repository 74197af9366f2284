#version 450
layout(local_size_x_id = 0) in;
layout(constant_id = 1) const uint lanes = 1;  // of eight
shared float sums[256];
void main() {
  float sum = float(gl_GlobalInvocationID.x);
  if ((gl_LocalInvocationID.x & 7u) < lanes) {
    for (int i = 0; i < 100 + int(gl_LocalInvocationID.x & 1u); ++i) sum = sin(sum) + 1;
  }
  sums[gl_LocalInvocationID.x] = sum;
}
