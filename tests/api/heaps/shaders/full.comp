#version 450
#extension GL_EXT_buffer_reference : require
// As add.comp, but the summand is the sum of all the other words of 256 bytes.
layout(local_size_x = 8) in;
layout(buffer_reference, std430) buffer Values { uint at[]; };
layout(push_constant) uniform Push {
  Values values;
  uint words[62];
};

void main() {
  uint sum = 0;
  for (uint word = 0; word < 62; ++word) {
    sum += words[word];
  }
  const uint i = gl_GlobalInvocationID.x;
  if ((i & 1) != 0) {
    values.at[i] += 2 * sum;
  }
  values.at[i] += sum;
}
