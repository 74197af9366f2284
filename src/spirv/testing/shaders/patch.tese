#version 450
layout(triangles, fractional_odd_spacing) in;
layout(location = 0) in vec3 in_position[];
void main() {
  vec3 p = gl_TessCoord.x * in_position[0] + gl_TessCoord.y * in_position[1] + gl_TessCoord.z * in_position[2];
  gl_Position = vec4(mix(p, normalize(p), 0.5), 1.0);
}
