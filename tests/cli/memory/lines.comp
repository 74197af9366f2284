#version 450
// Loads one word in all invocations, or words in no order.
layout(local_size_x = 64) in;
layout(constant_id = 0) const uint kWords = 1;  // of kWords * 4096
layout(set = 0, binding = 0) readonly buffer Values { float values[]; };
layout(set = 0, binding = 1) writeonly buffer Sums { float sums[]; };

void main() {
  const uint id = gl_GlobalInvocationID.x;
  const uint mixed = (id ^ (id >> 5)) * 747796405u + 2891336453u;
  sums[id] = values[kWords == 1 ? 7 : (mixed >> 8) % (kWords * 4096)];
}
