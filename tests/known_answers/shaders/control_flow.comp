#version 450
// Every kind of structured control flow; the marks name blocks whose executions can be computed by hand.
layout(local_size_x = 32) in;
layout(constant_id = 0) const uint kTrips = 5;
layout(set = 0, binding = 0) buffer Values { uint values[]; };

uint twice(uint x) {
  uint y = x;  // @twice
  return y + y;
}

void main() {
  const uint i = gl_GlobalInvocationID.x;
  uint sum = 0;
  for (uint k = 0; k < i % 8; ++k) {
    sum += k;  // @uneven_loop
  }
  if (i % 4 == 0) {
    sum += twice(i);  // @quarter
  } else {
    sum += 7;  // @others
  }
  switch (i % 3) {
    case 0:
      sum += 1;  // @case_zero
    case 1:
      sum += 2;  // @case_one
      break;
    default:
      sum += 4;  // @case_other
  }
  for (uint k = 0; k < kTrips; ++k) {
    if (k == 3 && i >= 100) {
      break;  // @break
    }
    sum ^= k;  // @trips
  }
  values[i] = sum;
  if (i >= 120) {
    return;  // @return
  }
  values[i] += twice(1);  // @tail
}
