#version 450
// Terminates inside functions that are called from several places, in loops and in a switch.
layout(location = 0) out vec4 color;
layout(push_constant) uniform Push { int pattern; } push;
void maybe_discard(int x) { if (x % 3 == push.pattern) discard; }
int nested(int x) { maybe_discard(x); for (int i = 0; i < x % 4; ++i) maybe_discard(x + i * 5); return x + 1; }
void main() {
  int x = int(gl_FragCoord.x), y = int(gl_FragCoord.y);
  int n = 0;
  switch (y % 4) {
    case 0: maybe_discard(x); n = 1; break;
    case 1: n = nested(x + y); 
    case 2: n += nested(y); break;
    default: if (x > 100) discard; n = 5;
  }
  color = vec4(n) * dFdx(gl_FragCoord.y);
}
