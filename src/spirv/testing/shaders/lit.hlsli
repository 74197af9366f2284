float3 attenuate(float3 color, float distance)
{
    return color / (1.0 + distance * distance);
}
