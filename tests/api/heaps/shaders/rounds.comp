#version 450
#extension GL_EXT_buffer_reference : require
// Eight invocations a workgroup. Each counts as many rounds as push data say.
layout(local_size_x = 8) in;
layout(buffer_reference, std430) buffer Values { uint at[]; };
layout(push_constant) uniform Push {
  uint rounds;
  layout(offset = 8) Values values;
};

void main() {
  for (uint i = 0; i < rounds; ++i) {
    atomicAdd(values.at[gl_LocalInvocationIndex], 1);
  }
}
