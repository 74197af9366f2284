// bench/shaders/real/particles.comp in HLSL, line by line.


[[vk::binding(0, 0)]] StructuredBuffer<float4> seeds;
[[vk::binding(2, 0)]] StructuredBuffer<float4> state;
[[vk::binding(3, 0)]] RWStructuredBuffer<float4> next;
struct Push { uint count; float step_size; int attractors; int steps; }; [[vk::push_constant]] ConstantBuffer<Push> push;

float3 acceleration(float3 p) {
  float3 sum = float3(0.0, -1.5, 0.0);
  for (int i = 0; i < push.attractors; ++i) {
    const float3 away = seeds[i].xyz * 2.0 - p;
    const float d2 = dot(away, away);
    if (d2 > 4.0) continue;
    sum += away * (seeds[i].w + 1.2) / (d2 + 0.05);
  }
  return sum;
}

void bounce(inout float3 p, inout float3 v) {
  if (p.y < -1.0) {
    p.y = -2.0 - p.y;
    v.y = -0.6 * v.y;
  }
  const float r = length(p);
  if (r < 0.4) {
    const float3 n = p / r;
    p = n * 0.4;
    v -= 1.7 * min(dot(v, n), 0.0) * n;
  }
}

[numthreads(256, 1, 1)] void main(uint3 id : SV_DispatchThreadID) {
  const uint i = id.x;
  if (i >= push.count) return;
  float4 place = state[2 * i], speed = state[2 * i + 1];
  float age = place.w + 1.0;
  for (int s = 0; s < push.steps; ++s) {
    age += push.step_size;
    if (age > 2.0) {
      age = 0.0;
      place.xyz = seeds[i].xyz * 0.5 + float3(0, 0.5, 0);
      speed.xyz = seeds[i].yzx;
      continue;
    }
    speed.xyz += acceleration(place.xyz) * push.step_size;
    speed.xyz *= 0.995;
    place.xyz += speed.xyz * push.step_size;
    bounce(place.xyz, speed.xyz);
  }
  next[2 * i] = float4(place.xyz, age - 1.0);
  next[2 * i + 1] = speed;
}
