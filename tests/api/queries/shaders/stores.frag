#version 450
#extension GL_EXT_buffer_reference : require
// Writes to memory: the depth and stencil tests come later.
layout(location = 0) out vec4 color;
layout(buffer_reference, std430, buffer_reference_align = 4) buffer Words {
  uint at[];
};
layout(push_constant) uniform Push { layout(offset = 8) Words words; };

void main() {
  color = vec4(1.0);
  words.at[0] = 1;
}
