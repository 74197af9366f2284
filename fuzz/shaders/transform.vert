#version 450
layout(location = 0) in vec3 position;
layout(location = 0) out vec4 colour;
layout(location = 1) flat out int mode;
layout(set = 0, binding = 1) uniform Scene { mat4 view; vec4 lights[4]; int light_count; };

void main() {
  vec4 sum = vec4(0);
  for (int i = 0; i < light_count && i < 4; ++i) sum += lights[i] * dot(lights[i].xyz, position);
  colour = gl_VertexIndex == 3 ? vec4(0) : sum;
  mode = gl_InstanceIndex;
  gl_Position = view * vec4(position, 1);
}
