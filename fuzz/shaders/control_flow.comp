// Every shape of structured control flow: nested loops with several exits, a switch that falls through and
// one without a default, early returns, calls, phis, a specialization constant as a condition.
#version 450
layout(local_size_x_id = 1) in;
layout(constant_id = 0) const bool kFast = false;
layout(constant_id = 2) const int kLimit = 7;
layout(set = 0, binding = 0) buffer Data { uint values[]; };
layout(push_constant) uniform Push { uint count; uint mode; };

shared uint total;

uint collatz(uint n) {
  uint steps = 0;
  while (n > 1) {
    n = (n & 1) == 0 ? n / 2 : 3 * n + 1;
    if (++steps > 100) return steps;
  }
  return steps;
}

uint classify(uint value) {
  uint result = 0;
  switch (value % 6) {
    case 0:
    case 1: result += 1;
    case 2: result += 2; break;
    case 3: return 9;
    case 4: break;
    default: result = collatz(value);
  }
  switch (int(value) - 3) {
    case -3: result ^= 5; break;
    case 100: result ^= 6;
  }
  return result;
}

void main() {
  uint i = gl_GlobalInvocationID.x;
  if (gl_LocalInvocationIndex == 0) total = 0;
  barrier();
  if (i >= count) return;
  uint sum = 0;
  for (int j = 0; j < kLimit; ++j) {
    if (kFast && j == 3) break;
    do {
      sum += classify(values[i] + sum);
      if ((sum & 3) == 1) continue;
      if (sum > 1000) break;
      for (uint k = j; k < mode; ++k) {
        if (k == sum) return;
        sum = sum * 3 + k;
      }
    } while ((sum & 12) != 0 && sum < 5000);
  }
  bool deep = sum > 4 && (values[i] < 3 || collatz(sum) > 10);
  atomicAdd(total, deep ? sum : 1);
  barrier();
  values[i] = total;
}
