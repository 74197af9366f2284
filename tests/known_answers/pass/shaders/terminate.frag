#version 450
#extension GL_EXT_terminate_invocation : require
layout(location = 0) out vec4 color;
layout(location = 0) in vec2 uv;
void main() {
  color = gl_HelperInvocation ? vec4(1) : vec4(0.5);
  if (uv.x > 0.5) terminateInvocation;
  color += vec4(uv, 0, 0);
}
