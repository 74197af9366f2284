#version 450
// Keeps the samples of one mask in even columns, and of another in odd ones.
layout(location = 0) out vec4 color;

void main() {
  color = vec4(1.0);
  gl_SampleMask[0] = (int(gl_FragCoord.x) & 1) == 0 ? 0x5 : 0xe;
}
