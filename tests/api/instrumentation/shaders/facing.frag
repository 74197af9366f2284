#version 450
layout(location = 0) out vec4 color;

void main() {
  color = vec4(float(gl_FrontFacing), float(gl_PrimitiveID & 7) / 8.0, gl_FragCoord.z, fract(gl_FragCoord.x / 16.0));
}
