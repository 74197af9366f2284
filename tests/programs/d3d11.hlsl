// Shaders of d3d11.cpp: a triangle whose pixels take a number of steps that depends on where they are, and a kernel.
float4 vertex(uint index : SV_VertexID) : SV_Position
{
    return float4(index == 1 ? 3.0 : -1.0, index == 2 ? 3.0 : -1.0, 0.0, 1.0);
}

float4 pixel(float4 position : SV_Position) : SV_Target
{
    float sum = 0.0;
    uint steps = uint(position.x) % 7;
    for (uint i = 0; i < steps; ++i)
        sum += 0.125;
    return float4(sum, position.y / 64.0, 0.5, 1.0);
}

RWStructuredBuffer<uint> values : register(u0);

[numthreads(64, 1, 1)]
void kernel(uint3 id : SV_DispatchThreadID)
{
    uint value = id.x;
    for (uint i = 0; i < id.x % 5; ++i)
        value *= 3;
    values[id.x] = value;
}
