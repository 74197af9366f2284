#version 450
layout(push_constant) uniform Push { mat4 transform; vec4 offsets[3]; } push;
layout(location = 0) out vec2 uv;
layout(location = 1) flat out int kind;
void main() {
  uv = vec2(gl_VertexIndex & 1, gl_VertexIndex >> 1);
  vec4 position = vec4(uv * 2.0 - 1.0, 0, 1);
  for (int i = 0; i < 3; ++i) {
    if (push.offsets[i].w > 0) position += push.offsets[i];
  }
  kind = gl_InstanceIndex;
  gl_Position = push.transform * position;
}
