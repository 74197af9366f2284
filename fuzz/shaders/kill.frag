// Several ways to terminate a fragment, one of them in a function, and depth written by the shader.
#version 450
layout(location = 0) in vec4 colour;
layout(location = 1) flat in int mode;
layout(location = 0) out vec4 result;
layout(set = 0, binding = 0) uniform sampler2D image;

float opacity(vec2 at) {
  float a = texture(image, at).a;
  if (a < 0.1) discard;
  return a;
}

void main() {
  for (int i = 0; i < mode; ++i) {
    if (colour.x * float(i) > 3.0) discard;
    if (i == 17) {
      result = vec4(1);
      return;
    }
  }
  result = colour * opacity(colour.zw) * dFdx(colour.y);
  if (mode > 3) gl_FragDepth = colour.z;
}
