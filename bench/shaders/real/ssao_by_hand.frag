// ssao.frag with the simplest code that counts its blocks: private counts, a sum of the subgroup for each, which one lane
// adds to a counter at a known address. The steps of the loop follow from the push constant.
#version 450
#extension GL_ARB_gpu_shader_int64 : require
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_shader_atomic_int64 : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_ballot : require
layout(location = 0) in vec2 at;
layout(location = 0) out vec4 color;
layout(set = 0, binding = 5) uniform sampler2D normal_map;
layout(set = 0, binding = 6) uniform sampler2D position_map;
layout(buffer_reference, std430, buffer_reference_align = 8) buffer Record { uint64_t counters[4]; };
layout(push_constant) uniform Push { float radius; int samples; layout(offset = 16) Record record; };

float hash(vec2 p) { return fract(sin(dot(p, vec2(12.9898, 78.233))) * 43758.5453); }

vec3 hemisphere(int i, vec3 n, vec3 turn) {
  const float z = (float(i) + 0.5) / float(samples), angle = float(i) * 2.39996;
  const vec3 local = vec3(sqrt(1.0 - z * z) * vec2(cos(angle), sin(angle)), z) * mix(0.1, 1.0, z * z);
  const vec3 tangent = normalize(turn - n * dot(turn, n));
  return mat3(tangent, cross(n, tangent), n) * local;
}

vec2 project(vec3 p) {
  const vec3 q = p - vec3(0, 1.7, 0);
  return vec2(q.x / q.z * 0.5 + 0.5, 0.5 - q.y / q.z / 1.125);
}

vec4 shade(inout bool hit, inout uint inside, inout uint behind) {
  const vec4 place = textureLod(position_map, at, 0.0);
  if (place.w >= 59.0) {
    return vec4(1.0);
  }
  hit = true;
  const vec3 n = normalize(textureLod(normal_map, at, 0.0).xyz);
  const vec3 turn = normalize(vec3(hash(gl_FragCoord.xy), hash(gl_FragCoord.yx + 3.0), 0.31) * 2.0 - 1.0);
  float occluded = 0.0;
  for (int i = 0; i < samples; ++i) {
    const vec3 p = place.xyz + hemisphere(i, n, turn) * radius;
    const vec2 uv = project(p);
    if (any(notEqual(uv, clamp(uv, 0.0, 1.0)))) continue;
    ++inside;
    const float depth = textureLod(position_map, uv, 0.0).w;
    const float own = distance(p, vec3(0, 1.7, 0));
    if (depth < own - 0.02) {
      occluded += smoothstep(0.0, 1.0, radius / (own - depth));
      ++behind;
    }
  }
  return vec4(vec3(1.0 - occluded / float(samples)), 1.0);
}

void main() {
  bool hit = false;
  uint inside = 0, behind = 0;
  color = shade(hit, inside, behind);
  const uvec4 counting = subgroupBallot(!gl_HelperInvocation), hits = subgroupBallot(!gl_HelperInvocation && hit);
  inside = subgroupAdd(gl_HelperInvocation ? 0 : inside);
  behind = subgroupAdd(gl_HelperInvocation ? 0 : behind);
  if (gl_SubgroupInvocationID == subgroupBallotFindLSB(counting)) {
    atomicAdd(record.counters[0], uint64_t(subgroupBallotBitCount(counting)));
    atomicAdd(record.counters[1], uint64_t(subgroupBallotBitCount(hits)));
    atomicAdd(record.counters[2], uint64_t(inside));
    atomicAdd(record.counters[3], uint64_t(behind));
  }
}
