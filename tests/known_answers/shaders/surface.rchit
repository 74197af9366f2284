#version 460
#extension GL_EXT_ray_tracing : require
// Shader of two hit groups. On the first geometry it traces a second ray, which hits nothing.
layout(set = 0, binding = 0) uniform accelerationStructureEXT scene;
layout(location = 0) rayPayloadInEXT uvec4 payload;
layout(location = 1) rayPayloadEXT uvec4 light;

void main() {
  payload.x = 16u + uint(gl_GeometryIndexEXT);
  if (gl_GeometryIndexEXT == 0) {
    light = uvec4(0);  // @first
    const vec3 at = gl_WorldRayOriginEXT + gl_HitTEXT * gl_WorldRayDirectionEXT;
    traceRayEXT(scene, gl_RayFlagsNoneEXT, 0xff, 0, 1, 1, at, 0.1, vec3(0.0, 0.0, -1.0), 100.0, 1);
    payload.x += light.y;
  }
}
