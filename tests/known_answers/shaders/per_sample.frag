#version 450
layout(location = 0) out vec4 color;

void main() {
  color = vec4(0.0);
  if (gl_SampleID == 2) {
    color = vec4(1.0);  // @third_sample
  }
}
