#version 450
layout(location = 0) in Block { vec4 color; float weights[2]; } block;
layout(location = 3) flat in uint seen;
layout(location = 0) out vec4 color;
void main() {
  uvec2 at = uvec2(gl_FragCoord.xy);
  color = vec4(0);
  for (uint i = 0; i < (seen + at.x) % 5u; ++i) color += block.color * block.weights[i & 1u];
  if ((seen + at.y) % 3u == 0u) discard;
}
