#version 450
// Reads what it has just written.
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) buffer Values { float values[]; };
layout(set = 0, binding = 1) buffer Sums { float sums[]; };

void main() {
  const uint id = gl_GlobalInvocationID.x;
  values[id] = float(id) * 0.5;
  sums[id] = values[id] + 1.0;
}
