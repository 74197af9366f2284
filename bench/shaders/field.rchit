#version 460
#extension GL_EXT_ray_tracing : require
// Eight lights, and a ray towards the sky.
layout(set = 0, binding = 0) uniform accelerationStructureEXT scene;
layout(location = 0) rayPayloadInEXT vec4 payload;
layout(location = 1) rayPayloadEXT vec4 sky;

void main() {
  const vec3 at = gl_WorldRayOriginEXT + gl_HitTEXT * gl_WorldRayDirectionEXT;
  vec3 light = vec3(0.0);
  for (int i = 0; i < 8; ++i) {
    const vec3 to_light = vec3(float(i) * 2.0, float(i * 5 % 16), -2.0) - at;
    const float distance = length(to_light);
    if (distance < 8.0) light += vec3(0.3, 0.25, 0.2) * -to_light.z / (distance * distance);
  }
  sky = vec4(0.0);
  traceRayEXT(scene, gl_RayFlagsOpaqueEXT | gl_RayFlagsSkipClosestHitShaderEXT, 0xff, 0, 1, 0, at,
              0.01, vec3(0.0, 0.0, -1.0), 100.0, 1);
  payload += vec4(light, 1.0) + 0.1 * sky;
}
