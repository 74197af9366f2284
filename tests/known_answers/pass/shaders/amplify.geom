#version 450
layout(triangles, invocations = 2) in;
layout(triangle_strip, max_vertices = 6) out;
void main() {
  for (int copy = 0; copy < 2; ++copy) {
    if (gl_PrimitiveIDIn % 3 == 0 && copy == 1) return;
    for (int i = 0; i < 3; ++i) {
      gl_Position = gl_in[i].gl_Position + vec4(copy * 0.1);
      gl_PrimitiveID = gl_PrimitiveIDIn;
      EmitVertex();
    }
    EndPrimitive();
  }
}
