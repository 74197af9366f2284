#version 450
// Its push constants have the minimum size that Vulkan guarantees.
layout(local_size_x = 8) in;
layout(set = 0, binding = 0) buffer Values { uint values[]; };
layout(push_constant) uniform Push { uint add[32]; };

void main() {
  const uint i = gl_GlobalInvocationID.x;
  values[i] += add[0] + add[31];
}
