#version 460
#extension GL_EXT_ray_tracing : require
layout(location = 0) rayPayloadInEXT vec4 payload;

void main() {
  const float height = gl_WorldRayDirectionEXT.z * 0.5 + 0.5;
  payload += mix(vec4(1.0), vec4(0.5, 0.7, 1.0, 1.0), height);
}
