// bench/shaders/real/ssao.frag in HLSL, line by line.

struct In { [[vk::location(0)]] float2 at : AT; float4 place : SV_Position; };

[[vk::binding(5, 0)]] Texture2D normal_map; [[vk::binding(5, 0)]] SamplerState normal_sampler;
[[vk::binding(6, 0)]] Texture2D position_map; [[vk::binding(6, 0)]] SamplerState position_sampler;
struct Push { float radius; int samples; }; [[vk::push_constant]] ConstantBuffer<Push> push;

float hash(float2 p) { return frac(sin(dot(p, float2(12.9898, 78.233))) * 43758.5453); }

float3 hemisphere(int i, float3 n, float3 turn) {
  const float z = (float(i) + 0.5) / float(push.samples), angle = float(i) * 2.39996;
  const float3 inner = float3(sqrt(1.0 - z * z) * float2(cos(angle), sin(angle)), z) * lerp(0.1, 1.0, z * z);
  const float3 tangent = normalize(turn - n * dot(turn, n));
  return mul(inner, float3x3(tangent, cross(n, tangent), n));
}

float2 project(float3 p) {
  const float3 q = p - float3(0, 1.7, 0);
  return float2(q.x / q.z * 0.5 + 0.5, 0.5 - q.y / q.z / 1.125);
}

float4 main(In input) : SV_Target0 {
  const float4 place = position_map.SampleLevel(position_sampler, input.at, 0.0);
  if (place.w >= 59.0) {
    return float4(1.0, 1.0, 1.0, 1.0);

  }
  const float3 n = normalize(normal_map.SampleLevel(normal_sampler, input.at, 0.0).xyz);
  const float3 turn = normalize(float3(hash(input.place.xy), hash(input.place.yx + 3.0), 0.31) * 2.0 - 1.0);
  float occluded = 0.0;
  for (int i = 0; i < push.samples; ++i) {
    const float3 p = place.xyz + hemisphere(i, n, turn) * push.radius;
    const float2 uv = project(p);
    if (any(uv != clamp(uv, 0.0, 1.0))) continue;
    const float depth = position_map.SampleLevel(position_sampler, uv, 0.0).w;
    const float own = distance(p, float3(0, 1.7, 0));
    if (depth < own - 0.02) occluded += smoothstep(0.0, 1.0, push.radius / (own - depth));
  }
  const float lit = 1.0 - occluded / float(push.samples); return float4(lit, lit, lit, 1.0);
}
