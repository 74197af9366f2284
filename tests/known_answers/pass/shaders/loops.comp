#version 450
// Loops of every kind. The test knows how long each runs.
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) buffer Values { uint values[]; };

uint inner(uint n) {
  uint sum = 0;
  for (uint i = 0; i < 64; ++i) {
    if (i == n) return sum;  // in a function: ends its loop, not the loop of the caller
    sum += values[gl_GlobalInvocationID.x];
  }
  return sum;
}

void main() {
  const uint id = gl_GlobalInvocationID.x;
  const uint zero = values[id];
  uint sum = 0;
  for (uint i = 0; i < 10; ++i) sum += values[id];
  for (uint i = 0; i < id; ++i) sum += i;
  for (uint i = 0; i < zero; ++i) sum += i;
  for (uint i = 0; i < 100; ++i) {
    if (i == 5) break;
    sum += values[id];
  }
  for (uint i = 0; i < 4; ++i)
    for (uint k = 0; k < i; ++k) sum += values[id];
  uint times = 0;
  do {
    ++times;
    sum += values[id];
  } while (times <= id % 3);
  for (uint i = 0; i < 3; ++i) sum += inner(id % 4);
  for (uint i = 0; i < 50; ++i) {
    if (i % 2 == 0) continue;
    if (i == id) {
      values[id] = sum + 1;
      return;
    }
  }
  values[id] = sum + 1;
}
