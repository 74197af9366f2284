#version 450
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) buffer Values { uint values[]; };

void main() {
  const uint i = gl_GlobalInvocationID.x;
  for (int k = 0; k < 5; ++k) values[i] = values[i] * 2;
}
