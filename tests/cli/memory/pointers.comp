#version 460
// Buffers by address, and an array of buffers.
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_nonuniform_qualifier : require
layout(local_size_x = 64) in;
layout(buffer_reference, std430, buffer_reference_align = 4) buffer Words { uint words[]; };
layout(push_constant) uniform Push { Words even, odd; };
layout(set = 0, binding = 0) buffer Sinks { uint words[]; } sinks[2];

void main() {
  const uint id = gl_GlobalInvocationID.x;
  uint word;
  if ((id & 1u) == 0u) {
    word = even.words[id * 4];
  } else {
    word = odd.words[id];
  }
  sinks[nonuniformEXT(id & 1u)].words[id] = word;
}
