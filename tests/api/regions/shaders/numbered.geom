#version 450
// Passes triangles through, every two with the same primitive ID.
layout(triangles) in;
layout(triangle_strip, max_vertices = 3) out;

void main() {
  for (int i = 0; i < 3; ++i) {
    gl_Position = gl_in[i].gl_Position;
    gl_PrimitiveID = gl_PrimitiveIDIn / 2;
    EmitVertex();
  }
  EndPrimitive();
}
