// Tiled deferred lighting: a workgroup collects the lights that reach its tile, then lights its pixels.
#version 450
layout(local_size_x = 16, local_size_y = 16) in;
layout(set = 0, binding = 0) readonly buffer Lights { vec4 lights[]; };
layout(set = 0, binding = 3) writeonly buffer Output { uint pixels[]; };
layout(set = 0, binding = 4) uniform sampler2D albedo_map;
layout(set = 0, binding = 5) uniform sampler2D normal_map;
layout(set = 0, binding = 6) uniform sampler2D position_map;
layout(push_constant) uniform Push { uint light_count; };

const uint kMaxPerTile = 64;
shared uint nearest, farthest, found;
shared uint list[kMaxPerTile];

vec4 light_sphere(uint i) {
  const vec4 raw = lights[i];
  return vec4(raw.x * 8.0, raw.y + 1.2, raw.z * 15.0 + 15.0, 2.0 + raw.w);
}

bool reaches_tile(vec4 light, vec2 low, vec2 high, float near, float far) {
  if (light.z + light.w < near * 0.6 || light.z - light.w > far) return false;
  const vec2 middle = light.xy - vec2(0.0, 1.7);
  const float z = max(light.z, 0.1);
  return all(greaterThan(middle + light.w, min(low, high) * z)) && all(lessThan(middle - light.w, max(low, high) * z));
}

vec3 lit_by(vec4 light, vec3 tint, vec3 p, vec3 n, vec3 v, vec3 albedo, float roughness) {
  const vec3 away = light.xyz - p;
  const float d2 = dot(away, away);
  if (d2 > light.w * light.w) return vec3(0.0);
  const vec3 l = away * inversesqrt(max(d2, 1e-4));
  const float facing = dot(n, l);
  if (facing <= 0.0) return vec3(0.0);
  const float falloff = 1.0 - d2 / (light.w * light.w);
  const float shine = pow(max(dot(n, normalize(l + v)), 0.0), mix(64.0, 4.0, roughness));
  return tint * falloff * falloff * (albedo * facing + 0.3 * shine);
}

void main() {
  const uvec2 size = gl_NumWorkGroups.xy * gl_WorkGroupSize.xy;
  const vec2 uv = (vec2(gl_GlobalInvocationID.xy) + 0.5) / vec2(size);
  const vec4 place = textureLod(position_map, uv, 0.0);
  if (gl_LocalInvocationIndex == 0) {
    nearest = 0x7f800000u;
    farthest = found = 0;
  }
  barrier();
  atomicMin(nearest, floatBitsToUint(place.w));
  atomicMax(farthest, floatBitsToUint(place.w));
  barrier();
  const vec2 first = vec2(gl_WorkGroupID.xy) / vec2(gl_NumWorkGroups.xy);
  const vec2 last = vec2(gl_WorkGroupID.xy + 1u) / vec2(gl_NumWorkGroups.xy);
  const vec2 low = vec2(first.x * 2.0 - 1.0, (0.5 - first.y) * 1.125);
  const vec2 high = vec2(last.x * 2.0 - 1.0, (0.5 - last.y) * 1.125);
  for (uint i = gl_LocalInvocationIndex; i < light_count; i += 256) {
    if (!reaches_tile(light_sphere(i), low, high, uintBitsToFloat(nearest), uintBitsToFloat(farthest))) continue;
    const uint slot = atomicAdd(found, 1);
    if (slot < kMaxPerTile) list[slot] = i;
  }
  barrier();
  vec3 sum = vec3(0.4, 0.6, 0.9);
  if (place.w < 59.0) {
    const vec4 surface = textureLod(normal_map, uv, 0.0);
    const vec3 albedo = textureLod(albedo_map, uv, 0.0).rgb;
    const vec3 v = normalize(vec3(0, 1.7, 0) - place.xyz);
    sum = albedo * 0.1;
    for (uint i = 0; i < min(found, kMaxPerTile); ++i) {
      const vec3 tint = 0.5 + 0.5 * cos(vec3(0, 2, 4) + float(list[i]));
      sum += lit_by(light_sphere(list[i]), tint, place.xyz, surface.xyz, v, albedo, surface.w);
    }
  }
  pixels[gl_GlobalInvocationID.y * size.x + gl_GlobalInvocationID.x] = packUnorm4x8(vec4(min(sum, 1.0), 1.0));
}
