#version 450
// Discards some fragments in a loop of a function, and optionally all others after it.
layout(location = 0) out vec4 color;
layout(push_constant) uniform Push { uint pattern; uint rest; } push;
uint walk(uint x) {
  for (uint i = 0; i < 4; ++i) {
    x = x * 5u + 3u;
    if (x % 7u == push.pattern) discard;
  }
  uint rounds = 0;
  while (x % 3u != 0u && rounds < 9u) {
    x = x * 11u + 1u;
    ++rounds;
  }
  if (push.rest != 0u) discard;
  return x + rounds;
}
void main() {
  uint x = walk(uint(gl_FragCoord.x) * 37u + uint(gl_FragCoord.y) * 11u);
  color = vec4(x % 256u) / 255.0;
}
