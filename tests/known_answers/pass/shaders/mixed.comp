#version 450
// Loops with several exits, a switch, calls from several places, early return: every kind of block.
layout(local_size_x = 32) in;
layout(constant_id = 3) const int kRounds = 3;
layout(push_constant) uniform Push { uint bias; vec4 tint; } push;
layout(std430, set = 0, binding = 0) buffer Values { uint values[]; };

uint collatz(uint n) {
  uint steps = 0;
  while (n != 1) {
    if (steps > 50) return 99;
    n = (n & 1) == 0 ? n / 2 : 3 * n + 1;
    ++steps;
  }
  return steps;
}

uint pick(uint n) {
  switch (n % 5) {
    case 0: return 3;
    case 1: n += 1;  // falls through
    case 2: n *= 2; break;
    case 3: break;
    default: n = collatz(n);
  }
  return n;
}

void main() {
  uint id = gl_GlobalInvocationID.x;
  uint n = id + push.bias;
  if (id % 11 == 10) {
    values[id] = 7;
    return;
  }
  uint sum = 0;
  for (int i = 0; i < kRounds; ++i) {
    for (uint k = 0; k < n % 7; ++k) {
      if (k == 5) break;
      if (k == 2) continue;
      sum += pick(n + k);
    }
    if (sum > 400) break;
  }
  do {
    sum += collatz(sum % 17 + 1) + 1;
  } while (sum < 20);
  values[id] = sum;
}
