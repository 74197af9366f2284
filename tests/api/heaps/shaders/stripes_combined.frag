#version 450
// As stripes.frag, but the texture has its sampler.
layout(set = 0, binding = 0) uniform sampler2D picture;
layout(location = 0) out vec4 color;

void main() {
  if (textureLod(picture, gl_FragCoord.xy / 32.0, 0.0).r > 0.5) {
    color = vec4(1.0, 0.5, 0.0, 1.0);
  } else {
    color = vec4(0.0, 0.0, 1.0, 1.0);
  }
}
