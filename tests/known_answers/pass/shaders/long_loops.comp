#version 450
// Loops of constant length, one longer than lavapipe 22.3 can execute.
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) buffer Values { uint values[]; };
void main() {
  const uint id = gl_GlobalInvocationID.x;
  uint times = 0;
  for (uint i = 0; i < 70000; ++i) times += values[id] + 1;
  for (uint k = 0; k < 40; ++k) times += values[id] + 1;
  values[id] = times;
}
