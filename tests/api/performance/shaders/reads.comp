#version 450
// Reads what work.comp writes.
layout(local_size_x = 8) in;
layout(set = 0, binding = 0) readonly buffer Values { uint values[]; };
layout(set = 0, binding = 1) buffer Copies { uint copies[]; };

void main() { copies[gl_GlobalInvocationID.x] = values[gl_GlobalInvocationID.x]; }
