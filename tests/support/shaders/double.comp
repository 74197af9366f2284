#version 450
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) buffer Values { uint values[]; };

void main() {
  const uint i = gl_GlobalInvocationID.x;
  values[i] = values[i] * 2;
}
