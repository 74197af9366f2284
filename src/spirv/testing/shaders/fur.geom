#version 450
layout(triangles) in;
layout(triangle_strip, max_vertices = 12) out;
layout(location = 0) out float height;
void main() {
  for (int shell = 0; shell < 4; ++shell) {
    for (int i = 0; i < 3; ++i) {
      height = float(shell);
      gl_Position = gl_in[i].gl_Position + vec4(0.0, 0.1 * height, 0.0, 0.0);
      EmitVertex();
    }
    EndPrimitive();
  }
}
