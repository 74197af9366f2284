#version 450
// One return, which lanes reach in different iterations.
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) buffer Values { uint values[]; };
void main() {
  const uint id = gl_GlobalInvocationID.x;
  for (uint i = 0;; ++i) {
    values[id] = i * 3 + values[id] % 5;
    if (i >= 3 + id * 5 % 7) return;
  }
}
