// tint.frag with manual counting, drawn with meshlets_by_hand.mesh: the second counter of a shard.
#version 450
#extension GL_ARB_gpu_shader_int64 : require
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_shader_atomic_int64 : require
#extension GL_KHR_shader_subgroup_ballot : require
layout(location = 0) in vec3 tint;
layout(location = 0) out vec4 color;
layout(buffer_reference, std430, buffer_reference_align = 128) buffer Record { uint64_t counters[]; };
layout(push_constant) uniform Push { layout(offset = 16) Record record; };

void main() {
  color = vec4(tint, 1.0);
  const uvec4 counting = subgroupBallot(!gl_HelperInvocation);
  if (gl_SubgroupInvocationID == subgroupBallotFindLSB(counting)) {
    const uvec2 tile = uvec2(gl_FragCoord.xy) / 8;
    const uint shard = (tile.x + 5 * tile.y) & 255;
    atomicAdd(record.counters[shard * 16 + 1], uint64_t(subgroupBallotBitCount(counting)));
  }
}
