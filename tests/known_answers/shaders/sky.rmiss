#version 460
#extension GL_EXT_ray_tracing : require
layout(location = 0) rayPayloadInEXT uvec4 payload;

void main() {
  payload.x = 1u;
  if (gl_LaunchIDEXT.x < 4u) {
    payload.x = 2u;  // @left
  }
}
