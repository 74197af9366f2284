#version 460
#extension GL_EXT_ray_query : require
// The rays of rays.rgen, with ray queries.
layout(local_size_x = 8, local_size_y = 8) in;
layout(set = 0, binding = 0) uniform accelerationStructureEXT scene;
layout(set = 0, binding = 1) buffer Image { uint texels[]; };

void main() {
  const uvec2 pixel = gl_GlobalInvocationID.xy;
  const vec3 origin = vec3(vec2(pixel) + vec2(0.3, 0.6), -1.0);
  rayQueryEXT query;
  rayQueryInitializeEXT(query, scene, gl_RayFlagsNoneEXT, 0xff, origin, 0.0, vec3(0.0, 0.0, 1.0), 100.0);
  while (rayQueryProceedEXT(query)) {
    if (rayQueryGetIntersectionTypeEXT(query, false) == gl_RayQueryCandidateIntersectionAABBEXT) {
      rayQueryGenerateIntersectionEXT(query, 4.75);  // @box
    } else if (pixel.x != 0u) {
      rayQueryConfirmIntersectionEXT(query);  // @confirmed
    }
  }
  texels[pixel.y * 8u + pixel.x] = rayQueryGetIntersectionTypeEXT(query, true);
}
