// bench/shaders/real/nlmeans.comp in HLSL, line by line.


[[vk::binding(3, 0)]] RWStructuredBuffer<float4> result;
[[vk::binding(4, 0)]] Texture2D frame;
struct Push { int research; int patch_radius; float strength; }; [[vk::push_constant]] ConstantBuffer<Push> push;

float3 pixel(int2 at, int2 size) { return frame.Load(int3(clamp(at, int2(0, 0), size - 1), 0)).rgb; }

float unlikeness(int2 a, int2 b, int2 size) {
  float sum = 0.0;
  for (int y = -push.patch_radius; y <= push.patch_radius; ++y) {
    for (int x = -push.patch_radius; x <= push.patch_radius; ++x) {
      const float3 difference = pixel(a + int2(x, y), size) - pixel(b + int2(x, y), size);
      sum += dot(difference, difference);
    }
  }
  return sum;
}

[numthreads(16, 16, 1)] void main(uint3 id : SV_DispatchThreadID) {
  uint width, height; frame.GetDimensions(width, height); const int2 size = int2(width, height), at = int2(id.xy);
  if (at.x >= size.x || at.y >= size.y) return;
  float3 sum = pixel(at, size);
  float weights = 1.0;
  for (int y = -push.research; y <= push.research; ++y) {
    for (int x = -push.research; x <= push.research; ++x) {
      if (x == 0 && y == 0) continue;
      const int2 other = at + int2(x, y);
      const float d = unlikeness(at, other, size);
      if (d > push.strength) continue;
      const float weight = exp(-4.0 * d / push.strength);
      sum += pixel(other, size) * weight;
      weights += weight;
    }
  }
  result[at.y * size.x + at.x] = float4(sum / weights, 1.0);
}
