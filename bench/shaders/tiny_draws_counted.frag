// orange.frag, counted by hand.
#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_KHR_shader_subgroup_ballot : require
#extension GL_KHR_shader_subgroup_vote : require

layout(early_fragment_tests) in;
layout(buffer_reference, std430, buffer_reference_align = 4) buffer Records { uint at[]; };
layout(push_constant) uniform Push {
  Records records;
  uint mask;
};
layout(location = 0) flat in uint first_word;
layout(location = 0) out vec4 color;

void main() {
  color = vec4(1.0, 0.5, 0.0, 1.0);
  const bool alone = !subgroupAllEqual(first_word);
  const uvec4 live = subgroupBallot(!gl_HelperInvocation);
  const bool lowest = subgroupBallotExclusiveBitCount(live) == 0;
  if (!gl_HelperInvocation && (alone || lowest)) {
    atomicAdd(records.at[first_word + 1], alone ? 1 : subgroupBallotBitCount(live));
  }
}
