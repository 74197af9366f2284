#version 450
#extension GL_EXT_buffer_reference : require
// Adds a number to 32 numbers a group. Where they are is in push data.
layout(local_size_x = 32) in;
layout(buffer_reference, std430) buffer Numbers { uint at[]; };
layout(push_constant) uniform Push {
  Numbers numbers;
  uint add;
};

void main() {
  numbers.at[gl_GlobalInvocationID.x] += add;
}
