// memory_bound.comp with manual counting, knowing only what a layer knows: there may be no record, subgroups may not be
// full, and each block has a 64-bit counter. llvmpipe turns an atomic operation into a loop over the lanes, so that one
// operation adds all counts: each to its counter, by a lane of its own. Lanes are numbered without gaps there.
#version 450
#extension GL_ARB_gpu_shader_int64 : require
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_shader_atomic_int64 : require
#extension GL_KHR_shader_subgroup_arithmetic : require
layout(local_size_x = 256) in;
layout(set = 0, binding = 0) writeonly buffer Result { float result[]; };
layout(set = 0, binding = 1) readonly buffer A { float a[]; };
layout(set = 0, binding = 2) readonly buffer B { float b[]; };
layout(buffer_reference, std430, buffer_reference_align = 8) buffer Counter { uint64_t value; };
layout(push_constant) uniform Push { uint count; float scale; layout(offset = 16) uint64_t record; };

void main() {
  uint i = gl_GlobalInvocationID.x;
  bool inside = i < count, negative = false;
  if (inside) {
    float sum = a[i] * scale + b[i];
    negative = sum < 0.0;
    if (negative) sum = sum * 0.5 + 1.0;
    result[i] = sum;
  }
  uint counts = subgroupAdd(1 | uint(inside) << 8 | uint(negative) << 16);
  uint counter = gl_SubgroupInvocationID;
  if (record != 0 && counter < 3) {
    uint64_t shard = record + (gl_WorkGroupID.x & 255) * 128;
    do {
      atomicAdd(Counter(shard + 8 * counter).value, uint64_t(counts >> 8 * counter & 0xff));
      counter += counts & 0xff;  // where there are fewer lanes than counters
    } while (counter < 3);
  }
}
