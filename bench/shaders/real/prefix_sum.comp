// An exclusive prefix sum of 512 numbers a workgroup, up and down a tree in shared memory.
#version 450
layout(local_size_x = 256) in;
layout(set = 0, binding = 0) readonly buffer Input { float numbers[]; };
layout(set = 0, binding = 3) writeonly buffer Output { float sums[]; };
layout(push_constant) uniform Push { uint count; };

const uint kItems = 512;
shared float tree[kItems + kItems / 32];

uint place(uint i) { return i + (i >> 5); }  // each lane in its own bank

float read(uint i) { return i < count ? numbers[i] : 0.0; }

void main() {
  const uint lane = gl_LocalInvocationIndex, first = gl_WorkGroupID.x * kItems;
  tree[place(lane)] = read(first + lane);
  tree[place(lane + 256)] = read(first + lane + 256);
  uint stride = 1;
  for (uint nodes = kItems / 2; nodes > 0; nodes /= 2) {
    barrier();
    if (lane < nodes) {
      const uint left = stride * (2 * lane + 1) - 1, right = stride * (2 * lane + 2) - 1;
      tree[place(right)] += tree[place(left)];
    }
    stride *= 2;
  }
  if (lane == 0) tree[place(kItems - 1)] = 0.0;
  for (uint nodes = 1; nodes < kItems; nodes *= 2) {
    stride /= 2;
    barrier();
    if (lane < nodes) {
      const uint left = stride * (2 * lane + 1) - 1, right = stride * (2 * lane + 2) - 1;
      const float before = tree[place(left)];
      tree[place(left)] = tree[place(right)];
      tree[place(right)] += before;
    }
  }
  barrier();
  if (first + lane < count) sums[first + lane] = tree[place(lane)];
  if (first + lane + 256 < count) sums[first + lane + 256] = tree[place(lane + 256)];
}
