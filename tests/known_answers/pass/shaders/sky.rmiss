#version 460
#extension GL_EXT_ray_tracing : require
layout(location = 0) rayPayloadInEXT vec4 color;
void main() { color = gl_WorldRayDirectionEXT.y > 0 ? vec4(0, 0, 1, 0) : vec4(0); }
