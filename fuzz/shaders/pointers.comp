// The Vulkan memory model, buffers by address, 64-bit integers and atomics, subgroup operations: declarations
// that the pass adds may exist already.
#version 450
#pragma use_vulkan_memory_model
#extension GL_KHR_memory_scope_semantics : require
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
#extension GL_EXT_shader_atomic_int64 : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_EXT_shader_subgroup_extended_types_int64 : require
layout(local_size_x = 64) in;
layout(buffer_reference) buffer Node;
layout(buffer_reference, std430, buffer_reference_align = 16) buffer Node {
  Node next;
  uint64_t value;
};
layout(push_constant) uniform Push { Node head; };
layout(set = 0, binding = 0) buffer Sum { uint64_t sum; };
void main() {
  Node node = head;
  uint64_t here = 0;
  for (uint i = 0; i < gl_LocalInvocationIndex; ++i) {
    if (uint64_t(node) == 0) break;
    here += node.value;
    node = node.next;
  }
  here = subgroupAdd(here);
  if (subgroupElect()) atomicAdd(sum, here);
}
