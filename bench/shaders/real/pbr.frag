// Metal and roughness with a normal map, eight lights of two kinds, and tone mapping.
#version 450
layout(location = 0) in vec2 at;
layout(location = 0) out vec4 color;
layout(set = 0, binding = 4) uniform sampler2D albedo_map;
layout(set = 0, binding = 5) uniform sampler2D normal_map;
layout(set = 0, binding = 6) uniform sampler2D position_map;
layout(push_constant) uniform Push { float time; int light_count; float exposure; };

const float kPi = 3.14159265;

float distribution(float n_h, float roughness) {
  const float a2 = roughness * roughness * roughness * roughness;
  const float d = n_h * n_h * (a2 - 1.0) + 1.0;
  return a2 / (kPi * d * d);
}

float geometry_part(float n_x, float k) { return n_x / (n_x * (1.0 - k) + k); }

float geometry(float n_v, float n_l, float roughness) {
  const float r = roughness + 1.0, k = r * r / 8.0;
  return geometry_part(n_v, k) * geometry_part(n_l, k);
}

vec3 fresnel(float v_h, vec3 f0) { return f0 + (1.0 - f0) * pow(clamp(1.0 - v_h, 0.0, 1.0), 5.0); }

vec3 to_linear(vec3 c) { return mix(pow((c + 0.055) / 1.055, vec3(2.4)), c / 12.92, lessThan(c, vec3(0.04045))); }

vec3 bumped_normal(vec3 n, vec3 p, vec2 uv) {
  const vec3 dx = dFdx(p), dy = dFdy(p);
  const vec2 sx = dFdx(uv), sy = dFdy(uv);
  vec3 tangent = dx * sy.y - dy * sx.y;
  const float size = dot(tangent, tangent);
  if (size < 1e-12) return n;
  tangent = normalize(tangent - n * dot(n, tangent));
  const vec3 bump = texture(normal_map, fract(uv * 9.0)).xyz;
  return normalize(mat3(tangent, cross(n, tangent), n) * vec3(bump.xy * 0.2, 1.0));
}

bool light_at(int i, vec3 p, out vec3 l, out vec3 radiance) {
  if (i == 0) {
    l = normalize(vec3(0.5, 0.8, -0.3));
    radiance = vec3(3.0, 2.8, 2.4);
    return true;
  }
  const float turn = time + float(i) * 2.4;
  const vec3 away = vec3(2.5 * cos(turn), 1.5 + 0.5 * sin(turn * 1.3), 4.0 + 2.5 * float(i)) - p;
  const float d2 = dot(away, away);
  if (d2 > 40.0) return false;
  l = away * inversesqrt(d2);
  const float window = clamp(1.0 - pow(d2 / 40.0, 2.0), 0.0, 1.0);
  radiance = (0.5 + 0.5 * cos(vec3(0, 2, 4) + float(i))) * 12.0 * window * window / (d2 + 1.0);
  return true;
}

vec3 tone(vec3 x) { return clamp((x * (2.51 * x + 0.03)) / (x * (2.43 * x + 0.59) + 0.14), 0.0, 1.0); }

void main() {
  const vec4 place = texture(position_map, at);
  if (place.w >= 59.0) {
    color = vec4(0.4, 0.6, 0.9, 1.0);
    return;
  }
  const vec4 surface = texture(normal_map, at);
  const vec3 p = place.xyz;
  const vec3 n = bumped_normal(normalize(surface.xyz), p, at);
  const vec3 v = normalize(vec3(0, 1.7, 0) - p);
  const vec3 albedo = to_linear(texture(albedo_map, at).rgb);
  const float roughness = clamp(surface.w, 0.05, 1.0);
  const float metallic = step(0.5, albedo.b);
  const vec3 f0 = mix(vec3(0.04), albedo, metallic);
  const float n_v = max(dot(n, v), 1e-3);
  vec3 sum = 0.03 * albedo;
  for (int i = 0; i < light_count; ++i) {
    vec3 l, radiance;
    if (!light_at(i, p, l, radiance)) continue;
    const float n_l = dot(n, l);
    if (n_l <= 0.0) continue;
    const vec3 h = normalize(v + l);
    const vec3 f = fresnel(max(dot(v, h), 0.0), f0);
    const float specular =
        distribution(max(dot(n, h), 0.0), roughness) * geometry(n_v, n_l, roughness) / (4.0 * n_v * n_l);
    sum += ((1.0 - f) * (1.0 - metallic) * albedo / kPi + f * specular) * radiance * n_l;
  }
  color = vec4(pow(tone(sum * exposure), vec3(1.0 / 2.2)), 1.0);
}
