#version 450
#extension GL_EXT_demote_to_helper_invocation : require
#extension GL_KHR_shader_subgroup_ballot : require
layout(early_fragment_tests) in;
layout(location = 0) sample in vec2 at;
layout(location = 0) out vec4 result;
layout(set = 1, binding = 2, rgba8) uniform writeonly image2D target;

void main() {
  if (at.x > 0.5) demote;
  float left = 1.0;
  while (left > 0.01) {
    left *= at.y;
    if (helperInvocationEXT()) break;
  }
  uvec4 lanes = subgroupBallot(left > 0.0);
  if (!gl_HelperInvocation) imageStore(target, ivec2(gl_FragCoord.xy), vec4(left));
  result = vec4(subgroupBallotBitCount(lanes));
}
