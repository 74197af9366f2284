#version 450
layout(location = 0) in vec3 position;
layout(location = 1) in mat3 basis;
layout(location = 0) out vec3 normal;
layout(set = 0, binding = 0) uniform Camera { mat4 view_projection; };
void main() {
  normal = inverse(transpose(basis)) * position;
  gl_Position = view_projection * vec4(position, 1.0);
}
