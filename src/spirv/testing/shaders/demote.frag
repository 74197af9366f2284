#version 450
#extension GL_EXT_demote_to_helper_invocation : require
#extension GL_ARB_fragment_shader_interlock : require
#extension GL_ARB_sparse_texture2 : require
layout(pixel_interlock_ordered) in;
layout(set = 0, binding = 0, r32ui) uniform coherent uimage2D counter;
layout(set = 0, binding = 1) uniform sampler2D sparse;
layout(location = 0) in vec2 uv;
layout(location = 0) out vec4 color;
void main() {
  vec4 texel;
  int resident = sparseTextureARB(sparse, uv, texel);
  if (!sparseTexelsResidentARB(resident)) demote;
  beginInvocationInterlockARB();
  imageAtomicAdd(counter, ivec2(gl_FragCoord.xy), helperInvocationEXT() ? 0u : 1u);
  endInvocationInterlockARB();
  color = texel * vec4(dFdx(uv), dFdyFine(uv)) + vec4(textureSize(sparse, 0), textureQueryLod(sparse, uv));
}
