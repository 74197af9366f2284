#version 450
// A pipeline may specialize these: the workgroup, an array, the end and the step of a loop, the selector of a switch.
layout(local_size_x = 1, local_size_x_id = 0) in;
layout(constant_id = 1) const uint kLength = 1;
layout(constant_id = 2) const uint kTrips = 3;
layout(constant_id = 3) const uint kCase = 0;
layout(constant_id = 4) const uint kStep = 1;
layout(set = 0, binding = 0) buffer Values { uint values[]; };
shared uint tile[kLength];

// A parameter is a copy of the whole array.
uint last_of(uint elements[kLength]) {
  return elements[kLength - 1];
}

void main() {
  uint copy[kLength];
  for (uint k = 0; k < kTrips; ++k) {
    copy[k % kLength] = k;  // @trips
  }
  for (uint k = 0; k < 12; k += kStep) {
    copy[0] += k;  // @steps
  }
  for (uint k = gl_LocalInvocationIndex; k < 65; k += 64) {
    values[k] = k;  // @strides
  }
  switch (kCase) {
    case 0:
      values[100] = 1;  // @case_zero
      break;
    case 2:
      values[101] = 1;  // @case_two
      break;
    default:
      values[102] = 1;  // @case_other
  }
  if (gl_LocalInvocationIndex == 0) {
    tile[kLength - 1] = copy[0];  // @first
  }
  barrier();
  values[200 + gl_GlobalInvocationID.x] = last_of(tile);
}
