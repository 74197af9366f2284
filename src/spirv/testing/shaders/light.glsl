// Included by lit.frag and by lit.hlsl's GLSL sister: lines of another file.
float diffuse(vec3 normal, vec3 light) {
  return max(dot(normal, light), 0.0);
}

vec3 tone_map(vec3 color) {
  vec3 mapped = color / (color + vec3(1.0));
  return pow(mapped, vec3(1.0 / 2.2));
}
