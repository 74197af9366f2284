#version 450
#extension GL_EXT_buffer_reference : require
// As add.comp, but the summand is in the last bytes of 128.
layout(local_size_x = 8) in;
layout(buffer_reference, std430) buffer Values { uint at[]; };
layout(push_constant) uniform Push {
  Values values;
  layout(offset = 124) uint add;
};

void main() {
  values.at[gl_GlobalInvocationID.x] += add;
}
