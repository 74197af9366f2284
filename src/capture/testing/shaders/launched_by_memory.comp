#version 450
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) buffer Values { uint values[]; };
layout(push_constant) uniform Push { uint unused, add; };

void main() {
  const uint i = gl_GlobalInvocationID.x;
  const uint loops = values[1000];
  for (uint k = 0; k < loops; ++k) values[i] += add;
}
