#version 450

layout(location = 0) out vec4 colour;
void main() {
  const vec3 direction = normalize(gl_FragCoord.xyz);
  const float strength = pow(sin(gl_FragCoord.w) * 0.5 + 0.5, 3.0);
  colour = vec4(direction * strength, 1) * gl_FragCoord.x;
}
