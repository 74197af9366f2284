#version 450
layout(triangles, invocations = 2) in;
layout(triangle_strip, max_vertices = 3) out;
layout(location = 0) in vec4 colour[];
layout(location = 0) out vec4 shaded;
void main() {
  if (colour[0].x < 0.0) return;
  for (int i = 0; i < 3; ++i) {
    shaded = colour[i];
    gl_Position = gl_in[i].gl_Position * (gl_InvocationID == 0 ? 1.0 : 0.5);
    EmitVertex();
  }
  EndPrimitive();
}
