// Two entry points that share a function, push constants read as a whole.
struct Push { float4 tint; uint count; };
[[vk::push_constant]] Push push;
RWStructuredBuffer<uint> values : register(u0);
uint work(uint n, Push p) { uint s = 0; [loop] for (uint i = 0; i < n + p.count; ++i) s += i ^ n; return s; }
[numthreads(16, 1, 1)] void main(uint3 id : SV_DispatchThreadID) { Push p = push; values[id.x] = work(id.x, p); }
