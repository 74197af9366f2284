// Shaders of direct3d.cpp, as far as the compiler of wine 8.0 goes: no loops, no whole numbers, no kernels.
float4 vertex(float4 position : POSITION) : SV_Position
{
    return position;
}

float4 pixel(float4 position : SV_Position) : SV_Target
{
    float red = 0.0;
    if (position.x < position.y)
    {
        red = position.x / 64.0;
    }
    return float4(red, position.y / 64.0, 0.5, 1.0);
}
