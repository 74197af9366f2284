#version 450
layout(push_constant) uniform Push { vec4 sun; };
layout(location = 0) out vec4 colour;
void main() {
  const vec3 direction = normalize(sun.xyz);
  const float strength = pow(sin(sun.w) * 0.5 + 0.5, 3.0);
  colour = vec4(direction * strength, 1) * gl_FragCoord.x;
}
