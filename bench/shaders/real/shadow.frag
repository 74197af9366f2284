// Percentage-closer soft shadows: searches for what casts the shadow, then filters as wide as its distance asks.
#version 450
layout(location = 0) in vec2 at;
layout(location = 0) out vec4 color;
layout(set = 0, binding = 4) uniform sampler2D albedo_map;
layout(set = 0, binding = 6) uniform sampler2D position_map;
layout(set = 0, binding = 7) uniform sampler2D shadow_map;
layout(push_constant) uniform Push { float light_size; int search_steps; int filter_steps; };

const vec3 kSun = normalize(vec3(0.5, 0.8, -0.3));

float noise(vec2 p) { return fract(52.9829189 * fract(dot(p, vec2(0.06711056, 0.00583715)))); }

vec2 disk(int i, int count, float turn) {
  const float r = sqrt((float(i) + 0.5) / float(count)), angle = float(i) * 2.39996 + turn;
  return r * vec2(cos(angle), sin(angle));
}

vec3 to_light_space(vec3 p) {
  const vec3 right = normalize(cross(vec3(0, 1, 0), kSun)), up = cross(kSun, right);
  const vec3 q = p - vec3(0, 0, 14);
  return vec3(dot(q, right) / 36.0 + 0.5, dot(q, up) / 36.0 + 0.5, (30.0 - dot(q, kSun)) / 60.0);
}

// The average depth of what is nearer to the light, or -1.
float blockers(vec3 p, float turn) {
  float sum = 0.0;
  int count = 0;
  for (int i = 0; i < search_steps; ++i) {
    const float depth = textureLod(shadow_map, p.xy + disk(i, search_steps, turn) * light_size, 0.0).r;
    if (depth < p.z - 0.004) {
      sum += depth;
      ++count;
    }
  }
  return count == 0 ? -1.0 : sum / float(count);
}

float lit(vec3 p, float width, float turn) {
  float sum = 0.0;
  for (int i = 0; i < filter_steps; ++i) {
    const vec2 uv = p.xy + disk(i, filter_steps, turn) * width;
    sum += textureLod(shadow_map, uv, 0.0).r < p.z - 0.004 ? 0.0 : 1.0;
  }
  return sum / float(filter_steps);
}

float shadow(vec3 position, vec2 pixel) {
  const vec3 p = to_light_space(position);
  if (any(lessThan(p.xy, vec2(0.0))) || any(greaterThan(p.xy, vec2(1.0)))) return 1.0;
  const float turn = 6.2831 * noise(pixel);
  const float blocker = blockers(p, turn);
  if (blocker < 0.0) return 1.0;
  return lit(p, clamp((p.z - blocker) / blocker * light_size * 4.0, 0.0008, light_size), turn);
}

void main() {
  const vec4 place = textureLod(position_map, at, 0.0);
  vec3 albedo = textureLod(albedo_map, at, 0.0).rgb;
  if (place.w < 59.0) albedo *= 0.2 + 0.8 * shadow(place.xyz, gl_FragCoord.xy);
  color = vec4(albedo, 1.0);
}
