// tint.frag with the least code that counts its fragments: one lane adds for all that are no helpers, to a counter at a
// known address.
#version 450
#extension GL_ARB_gpu_shader_int64 : require
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_shader_atomic_int64 : require
#extension GL_KHR_shader_subgroup_ballot : require
layout(location = 0) in vec3 tint;
layout(location = 0) out vec4 color;
layout(buffer_reference, std430, buffer_reference_align = 8) buffer Record { uint64_t fragments; };
layout(push_constant) uniform Push { layout(offset = 16) Record record; };

void main() {
  color = vec4(tint, 1.0);
  const uvec4 counting = subgroupBallot(!gl_HelperInvocation);
  if (gl_SubgroupInvocationID == subgroupBallotFindLSB(counting)) {
    atomicAdd(record.fragments, uint64_t(subgroupBallotBitCount(counting)));
  }
}
