#version 450
// Accesses of lanes that part in branches, loops and functions. The test knows which are together.
layout(local_size_x = 48, local_size_y = 2) in;
layout(set = 0, binding = 0) buffer Values {
  uint sink[288];
  uint words[4096];
};
shared uint line[2048];

uint at(uint index) {
  uint sum = 0;
  for (uint i = 0; i <= index % 3; ++i) sum += words[index * 4 + i * 256];
  return sum;
}

void main() {
  const uint lane = gl_LocalInvocationIndex;
  const uint id = gl_WorkGroupID.x * 96 + lane;
  uint sum = 0;
  for (uint i = 0; i < 4; ++i) {
    if ((lane + i) % 4 == 0) continue;
    for (uint j = 0; j < (lane + i) % 5; ++j) {
      sum += words[lane + 512 * i + 64 * j];
      line[lane * 8 + j] = sum;
    }
  }
  barrier();
  if (lane % 2 == 0) sum += at(lane);
  sum += at(lane + 1);
  if (lane % 7 == 6) return;
  sink[id] = sum;
}
