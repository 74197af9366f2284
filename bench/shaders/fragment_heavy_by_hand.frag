// fragment_heavy.frag, which also counts its invocations in each region of the image, by hand.
#version 450
#extension GL_EXT_buffer_reference : require
#extension GL_KHR_shader_subgroup_ballot : require
#extension GL_KHR_shader_subgroup_vote : require
layout(buffer_reference, std430, buffer_reference_align = 4) buffer Counts { uint at[]; };
layout(location = 0) in vec2 at;
layout(location = 0) out vec4 colour;
layout(push_constant) uniform Push {
  float time;
  uint octaves;
  uint lights;
  uint columns;
  Counts counts;  // 32 words for each region
  uvec2 size_log2;
};

float hash(vec2 p) { return fract(sin(dot(p, vec2(12.9898, 78.233))) * 43758.5453); }

float noise(vec2 p) {
  vec2 cell = floor(p), f = fract(p);
  f = f * f * (3.0 - 2.0 * f);
  return mix(mix(hash(cell), hash(cell + vec2(1, 0)), f.x),
             mix(hash(cell + vec2(0, 1)), hash(cell + vec2(1, 1)), f.x), f.y);
}

void count() {
  const uvec2 region = uvec2(gl_FragCoord.xy) >> size_log2;
  const uint index = (region.y * columns + region.x) * 32;
  const bool alone = !subgroupAllEqual(index);
  const uvec4 live = subgroupBallot(!gl_HelperInvocation);
  const bool lowest = subgroupBallotExclusiveBitCount(live) == 0;
  if (!gl_HelperInvocation && (alone || lowest)) {
    atomicAdd(counts.at[index], alone ? 1 : subgroupBallotBitCount(live));
  }
}

void main() {
  count();
  float height = 0.0, weight = 0.5;
  vec2 p = at * 8.0 + time;
  for (uint i = 0; i < octaves; ++i) {
    height += weight * noise(p);
    p *= 2.03;
    weight *= 0.5;
  }
  if (height < 0.05) discard;
  vec3 light = vec3(0.1);
  for (uint i = 0; i < lights; ++i) {
    vec2 to = vec2(fract(float(i) * 0.618), fract(float(i) * 0.414)) - at;
    float distance2 = dot(to, to) + height * 0.01;
    if (distance2 > 0.3) continue;
    light += vec3(0.01, 0.008, 0.005) / distance2;
    if (light.x > 2.0) break;
  }
  colour = vec4(light * height, 1) * 0.25;
}
