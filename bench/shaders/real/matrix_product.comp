// A product of square matrices: tiles of 64x64 in shared memory, 4x4 results an invocation, edges guarded.
#version 450
layout(local_size_x = 16, local_size_y = 16) in;
layout(set = 0, binding = 0) readonly buffer A { float a[]; };
layout(set = 0, binding = 1) readonly buffer B { float b[]; };
layout(set = 0, binding = 3) writeonly buffer C { float c[]; };
layout(push_constant) uniform Push { uint size; };

const uint kTile = 64, kDepth = 16;
shared float tile_a[kDepth][kTile + 1];
shared float tile_b[kDepth][kTile];

float read_a(uint row, uint column) { return row < size && column < size ? a[row * size + column] : 0.0; }
float read_b(uint row, uint column) { return row < size && column < size ? b[row * size + column] : 0.0; }

void main() {
  const uvec2 corner = gl_WorkGroupID.xy * kTile;
  float sums[4][4];
  for (int y = 0; y < 4; ++y) {
    for (int x = 0; x < 4; ++x) sums[y][x] = 0.0;
  }
  for (uint k = 0; k < size; k += kDepth) {
    for (uint i = gl_LocalInvocationIndex; i < kTile * kDepth; i += 256) {
      tile_a[i % kDepth][i / kDepth] = read_a(corner.y + i / kDepth, k + i % kDepth);
      tile_b[i / kTile][i % kTile] = read_b(k + i / kTile, corner.x + i % kTile);
    }
    barrier();
    for (uint d = 0; d < kDepth; ++d) {
      float left[4];
      for (int y = 0; y < 4; ++y) left[y] = tile_a[d][gl_LocalInvocationID.y * 4 + y];
      for (int x = 0; x < 4; ++x) {
        const float right = tile_b[d][gl_LocalInvocationID.x + 16 * x];
        for (int y = 0; y < 4; ++y) sums[y][x] += left[y] * right;
      }
    }
    barrier();
  }
  for (int y = 0; y < 4; ++y) {
    for (int x = 0; x < 4; ++x) {
      const uvec2 at = corner + uvec2(gl_LocalInvocationID.x + 16 * x, gl_LocalInvocationID.y * 4 + y);
      if (at.x < size && at.y < size) c[at.y * size + at.x] = sums[y][x];
    }
  }
}
