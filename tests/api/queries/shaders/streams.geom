#version 450
// For primitive i, streams 0, 1 and 3 get i % 3 + 1, 2 and i % 2 points; stream 2 has none.
layout(points) in;
layout(points, max_vertices = 6) out;
layout(location = 0, stream = 0, xfb_buffer = 0, xfb_offset = 0, xfb_stride = 16) out vec4 of_first;
layout(location = 1, stream = 1, xfb_buffer = 1, xfb_offset = 0, xfb_stride = 8) out vec2 of_second;
layout(location = 2, stream = 3, xfb_buffer = 2, xfb_offset = 0, xfb_stride = 12) out vec3 of_last;

void main() {
  const int i = gl_PrimitiveIDIn;
  for (int n = 0; n <= i % 3; ++n) {
    gl_Position = gl_in[0].gl_Position;
    gl_PointSize = 1;
    of_first = vec4(i, n, 0, 1);
    EmitStreamVertex(0);
    EndStreamPrimitive(0);
  }
  for (int n = 0; n < 2; ++n) {
    of_second = vec2(i, n);
    EmitStreamVertex(1);
    EndStreamPrimitive(1);
  }
  if (i % 2 == 1) {
    of_last = vec3(i, 3, 3);
    EmitStreamVertex(3);
    EndStreamPrimitive(3);
  }
}
