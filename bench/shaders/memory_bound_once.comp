// memory_bound.comp with the least that can be counted: one lane of each subgroup adds 1, whatever the others did.
#version 450
#extension GL_ARB_gpu_shader_int64 : require
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_shader_atomic_int64 : require
#extension GL_KHR_shader_subgroup_basic : require
layout(local_size_x = 256) in;
layout(set = 0, binding = 0) writeonly buffer Result { float result[]; };
layout(set = 0, binding = 1) readonly buffer A { float a[]; };
layout(set = 0, binding = 2) readonly buffer B { float b[]; };
layout(buffer_reference, std430, buffer_reference_align = 128) buffer Record { uint64_t counters[]; };
layout(push_constant) uniform Push { uint count; float scale; layout(offset = 16) Record record; };

void main() {
  uint i = gl_GlobalInvocationID.x;
  if (i < count) {
    float sum = a[i] * scale + b[i];
    if (sum < 0.0) sum = sum * 0.5 + 1.0;
    result[i] = sum;
  }
  if (subgroupElect()) atomicAdd(record.counters[(gl_WorkGroupID.x & 255) * 16], 1);
}
