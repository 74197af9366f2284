#version 460
#extension GL_EXT_ray_query : require
#extension GL_EXT_buffer_reference2 : require
#extension GL_ARB_shader_clock : require
layout(local_size_x = 8, local_size_y = 8) in;
layout(buffer_reference, std430, buffer_reference_align = 16) buffer Node;
layout(buffer_reference, std430, buffer_reference_align = 16) buffer Node { Node next; uint value; };
layout(set = 0, binding = 0) uniform accelerationStructureEXT scene;
layout(push_constant) uniform Push { Node head; uint limit; } push;
void main() {
  uvec2 start = clock2x32ARB();
  rayQueryEXT query;
  rayQueryInitializeEXT(query, scene, gl_RayFlagsOpaqueEXT, 0xff, vec3(0.0), 0.0, vec3(1.0), 10.0);
  while (rayQueryProceedEXT(query)) {
    if (rayQueryGetIntersectionTypeEXT(query, false) == gl_RayQueryCandidateIntersectionTriangleEXT) {
      rayQueryConfirmIntersectionEXT(query);
    }
  }
  Node node = push.head;
  for (uint i = 0u; i < push.limit; ++i) node = node.next;
  node.value = clock2x32ARB().x - start.x;
}
