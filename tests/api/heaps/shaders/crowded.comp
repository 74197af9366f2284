#version 450
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_buffer_reference_uvec2 : require
// As add.comp, with a block of 256 bytes, which is mapped to push data.
layout(local_size_x = 8) in;
layout(buffer_reference, std430) buffer Values { uint at[]; };
layout(set = 0, binding = 0) uniform Words { uvec4 words[16]; };

void main() {
  const uint i = gl_GlobalInvocationID.x;
  if ((i & 1) != 0) {
    Values(words[0].xy).at[i] += 2 * words[15].w;
  }
  Values(words[0].xy).at[i] += words[15].w;
}
