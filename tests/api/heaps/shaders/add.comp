#version 450
#extension GL_EXT_buffer_reference : require
// Eight invocations per group; the odd ones do more work. Everything it needs is in push data.
layout(local_size_x = 8) in;
layout(buffer_reference, std430) buffer Values { uint at[]; };
layout(push_constant) uniform Push {
  Values values;
  uint add;
};

void main() {
  const uint i = gl_GlobalInvocationID.x;
  if ((i & 1) != 0) {
    values.at[i] += 2 * add;
  }
  values.at[i] += add;
}
