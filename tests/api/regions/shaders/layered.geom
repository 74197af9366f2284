#version 450
// Emits every triangle to both layers; to the second layer only if it is the first of its instance.
layout(triangles) in;
layout(triangle_strip, max_vertices = 6) out;

void main() {
  for (int layer = 0; layer < 2; ++layer) {
    if (layer == 1 && gl_PrimitiveIDIn != 0) continue;
    for (int i = 0; i < 3; ++i) {
      gl_Position = gl_in[i].gl_Position;
      gl_Layer = layer;
      EmitVertex();
    }
    EndPrimitive();
  }
}
