#version 460
#extension GL_EXT_ray_tracing : require
layout(location = 0) rayPayloadInEXT vec4 color;
hitAttributeEXT vec2 at;
void main() { color = at.x > 0.5 ? vec4(1) : vec4(0.5); }
