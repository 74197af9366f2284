#version 460
#extension GL_EXT_descriptor_heap : require
#extension GL_EXT_nonuniform_qualifier : require
// As add.comp, but the numbers are those of a buffer in the resource heap. heap_add.inc holds the SPIR-V, since glslang of
// Debian 12 does not know the extension. Made with glslang 16:
// glslang --target-env vulkan1.4 -x -o heap_add.inc heap_add.comp
layout(local_size_x = 8) in;
layout(descriptor_heap) buffer Values { uint at[]; } heap[];
layout(push_constant) uniform Push {
  uint index;
  uint add;
};

void main() {
  const uint i = gl_GlobalInvocationID.x;
  if ((i & 1) != 0) {
    heap[index].at[i] += 2 * add;
  }
  heap[index].at[i] += add;
}
