#version 450
// Loops whose start depends on the invocation, or whose step is even.
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) buffer Values { uint values[]; };
void main() {
  const uint lane = gl_LocalInvocationIndex, one = values[lane] + 1, limit = 7 + lane;
  uint times = 0;
  for (uint i = lane; i < 96; i += 32) times += one;   // as often in each invocation
  for (uint i = lane; i < 100; i += 32) times += one;  // once more in four of them
  for (int i = int(lane) * 8; i > -16; i -= 6) times += one;
  for (uint i = 1; i < limit; i += 2) times += one;
  for (uint i = 0xfffffff0; i != 16; i += 4) times += one;
  values[lane] = times;
}
