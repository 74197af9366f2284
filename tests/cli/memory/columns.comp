#version 450
// Loads and stores of a stride, and a tile of the workgroup that is written by columns.
layout(local_size_x = 64) in;
layout(constant_id = 0) const uint kStride = 1;  // words
layout(constant_id = 1) const uint kRow = 33;    // words of a row of the tile
layout(set = 0, binding = 0) buffer Values { float values[]; };
layout(set = 0, binding = 1) buffer Sums { float sums[]; };
shared float tile[32 * 33];

void main() {
  const uint id = gl_GlobalInvocationID.x, lane = gl_LocalInvocationID.x;
  const float x = values[id * kStride];
  tile[lane % 32 * kRow + lane / 32] = x;
  barrier();
  sums[id] = tile[lane];
}
