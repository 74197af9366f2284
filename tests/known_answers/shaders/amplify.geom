#version 450
// Each triangle becomes `copies` triangles, in each of two invocations.
layout(triangles, invocations = 2) in;
layout(triangle_strip, max_vertices = 12) out;
layout(push_constant) uniform Push { float level; };

void main() {
  for (int copy = 0; copy < int(level); ++copy) {
    for (int corner = 0; corner < 3; ++corner) {
      gl_Position = gl_in[corner].gl_Position;  // @vertex
      EmitVertex();
    }
    EndPrimitive();
  }
}
