// orange.frag, which counts the fragments of each draw. The host knows how many vertices there are.
#version 450
#extension GL_EXT_buffer_reference : require
#extension GL_KHR_shader_subgroup_ballot : require
layout(early_fragment_tests) in;
layout(buffer_reference, std430, buffer_reference_align = 4) buffer Counts { uint fragments[]; };
layout(push_constant) uniform Push { Counts counts; };
layout(location = 0) flat in uint draw;
layout(location = 0) out vec4 color;
void main() {
  color = vec4(1.0, 0.5, 0.0, 1.0);
  uvec4 counted = subgroupBallot(!gl_HelperInvocation);
  if (gl_SubgroupInvocationID == subgroupBallotFindLSB(counted)) {
    atomicAdd(counts.fragments[draw], subgroupBallotBitCount(counted));
  }
}
