// bench/shaders/real/pbr.frag in HLSL, line by line.

struct In { [[vk::location(0)]] float2 at : AT; };
#define OUT float4
[[vk::binding(4, 0)]] Texture2D albedo_map; [[vk::binding(4, 0)]] SamplerState albedo_sampler;
[[vk::binding(5, 0)]] Texture2D normal_map; [[vk::binding(5, 0)]] SamplerState normal_sampler;
[[vk::binding(6, 0)]] Texture2D position_map; [[vk::binding(6, 0)]] SamplerState position_sampler;
struct Push { float time; int light_count; float exposure; }; [[vk::push_constant]] ConstantBuffer<Push> push;

static const float kPi = 3.14159265;

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

float3 fresnel(float v_h, float3 f0) { return f0 + (1.0 - f0) * pow(saturate(1.0 - v_h), 5.0); }

float3 to_linear(float3 c) { return c < 0.04045 ? c / 12.92 : pow((c + 0.055) / 1.055, float3(2.4, 2.4, 2.4)); }

float3 bumped_normal(float3 n, float3 p, float2 uv) {
  const float3 dx = ddx(p), dy = ddy(p);
  const float2 sx = ddx(uv), sy = ddy(uv);
  float3 tangent = dx * sy.y - dy * sx.y;
  const float size = dot(tangent, tangent);
  if (size < 1e-12) return n;
  tangent = normalize(tangent - n * dot(n, tangent));
  const float3 bump = normal_map.Sample(normal_sampler, frac(uv * 9.0)).xyz;
  return normalize(mul(float3(bump.xy * 0.2, 1.0), float3x3(tangent, cross(n, tangent), n)));
}

bool light_at(int i, float3 p, out float3 l, out float3 radiance) {
  if (i == 0) {
    l = normalize(float3(0.5, 0.8, -0.3));
    radiance = float3(3.0, 2.8, 2.4);
    return true;
  }
  const float turn = push.time + float(i) * 2.4;
  const float3 away = float3(2.5 * cos(turn), 1.5 + 0.5 * sin(turn * 1.3), 4.0 + 2.5 * float(i)) - p;
  const float d2 = dot(away, away);
  if (d2 > 40.0) return false;
  l = away * rsqrt(d2);
  const float window = saturate(1.0 - pow(d2 / 40.0, 2.0));
  radiance = (0.5 + 0.5 * cos(float3(0, 2, 4) + float(i))) * 12.0 * window * window / (d2 + 1.0);
  return true;
}

float3 tone(float3 x) { return saturate((x * (2.51 * x + 0.03)) / (x * (2.43 * x + 0.59) + 0.14)); }

OUT main(In input) : SV_Target0 {
  const float4 place = position_map.Sample(position_sampler, input.at);
  if (place.w >= 59.0) {
    return float4(0.4, 0.6, 0.9, 1.0);

  }
  const float4 surface = normal_map.Sample(normal_sampler, input.at);
  const float3 p = place.xyz;
  const float3 n = bumped_normal(normalize(surface.xyz), p, input.at);
  const float3 v = normalize(float3(0, 1.7, 0) - p);
  const float3 albedo = to_linear(albedo_map.Sample(albedo_sampler, input.at).rgb);
  const float roughness = clamp(surface.w, 0.05, 1.0);
  const float metallic = step(0.5, albedo.b);
  const float3 f0 = lerp(float3(0.04, 0.04, 0.04), albedo, metallic);
  const float n_v = max(dot(n, v), 1e-3);
  float3 sum = 0.03 * albedo;
  for (int i = 0; i < push.light_count; ++i) {
    float3 l, radiance;
    if (!light_at(i, p, l, radiance)) continue;
    const float n_l = dot(n, l);
    if (n_l <= 0.0) continue;
    const float3 h = normalize(v + l);
    const float3 f = fresnel(max(dot(v, h), 0.0), f0);
    const float specular =
        distribution(max(dot(n, h), 0.0), roughness) * geometry(n_v, n_l, roughness) / (4.0 * n_v * n_l);
    sum += ((1.0 - f) * (1.0 - metallic) * albedo / kPi + f * specular) * radiance * n_l;
  }
  return float4(pow(tone(sum * push.exposure), 1.0 / 2.2), 1.0);
}
