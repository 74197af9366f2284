#version 450
#extension GL_EXT_buffer_reference : require
// As rounds.comp, with push data of 256 bytes, whose last word is what a round adds.
layout(local_size_x = 8) in;
layout(buffer_reference, std430) buffer Values { uint at[]; };
layout(push_constant) uniform Push {
  uint rounds;
  layout(offset = 8) Values values;
  uint words[60];
};

void main() {
  for (uint round = 0; round < rounds; ++round) {
    atomicAdd(values.at[gl_LocalInvocationIndex], words[59]);
  }
}
