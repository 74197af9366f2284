#version 450
// A texture twice in each direction of a target of 64x64 pixels: orange where it is bright, else blue.
layout(set = 0, binding = 0) uniform texture2D picture;
layout(set = 0, binding = 1) uniform sampler how;
layout(location = 0) out vec4 color;

void main() {
  if (textureLod(sampler2D(picture, how), gl_FragCoord.xy / 32.0, 0.0).r > 0.5) {
    color = vec4(1.0, 0.5, 0.0, 1.0);
  } else {
    color = vec4(0.0, 0.0, 1.0, 1.0);
  }
}
