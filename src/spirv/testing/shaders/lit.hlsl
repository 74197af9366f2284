#include "lit.hlsli"

struct Input
{
    float4 position : SV_Position;
    float3 normal : NORMAL;
    float2 uv : TEXCOORD0;
};

Texture2D albedo : register(t0);
SamplerState smooth_sampler : register(s1);
cbuffer Scene : register(b2)
{
    float4 lights[4];
    int count;
};

float4 main(Input input) : SV_Target
{
    float3 color = float3(0, 0, 0);
    [loop] for (int i = 0; i < count; ++i)
    {
        float3 direction = lights[i].xyz - input.position.xyz;
        color += attenuate(saturate(dot(input.normal, direction)).xxx, length(direction));
        if (color.x > 4)
            break;
    }
    clip(color.x - 0.1);
    return float4(color, 1) * albedo.Sample(smooth_sampler, input.uv);
}
