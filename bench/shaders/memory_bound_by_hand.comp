// memory_bound.comp with manual counting, using facts that the pass cannot know: subgroups are full, and the three counts
// of a shard fit into 21 bits each, so one lane adds all three with one instruction.
#version 450
#extension GL_ARB_gpu_shader_int64 : require
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_shader_atomic_int64 : require
#extension GL_KHR_shader_subgroup_ballot : require
layout(local_size_x = 256) in;
layout(set = 0, binding = 0) writeonly buffer Result { float result[]; };
layout(set = 0, binding = 1) readonly buffer A { float a[]; };
layout(set = 0, binding = 2) readonly buffer B { float b[]; };
layout(buffer_reference, std430, buffer_reference_align = 128) buffer Record { uint64_t counters[]; };
layout(push_constant) uniform Push { uint count; float scale; layout(offset = 16) Record record; };

void main() {
  uint i = gl_GlobalInvocationID.x;
  bool inside = i < count, negative = false;
  if (inside) {
    float sum = a[i] * scale + b[i];
    negative = sum < 0.0;
    if (negative) sum = sum * 0.5 + 1.0;
    result[i] = sum;
  }
  uint insides = subgroupBallotBitCount(subgroupBallot(inside));
  uint negatives = subgroupBallotBitCount(subgroupBallot(negative));
  if (gl_SubgroupInvocationID == 0) {
    uint64_t counts = gl_SubgroupSize | uint64_t(insides) << 21 | uint64_t(negatives) << 42;
    atomicAdd(record.counters[(gl_WorkGroupID.x & 255) * 16], counts);
  }
}
