// A Fourier transform of 1,024 complex numbers a workgroup: five passes of radix 4 in shared memory.
#version 450
layout(local_size_x = 256) in;
layout(set = 0, binding = 0) readonly buffer Input { vec2 signal[]; };
layout(set = 0, binding = 3) writeonly buffer Output { vec2 spectrum[]; };
layout(push_constant) uniform Push { float direction; };

const uint kSize = 1024;
shared vec2 line[kSize];

vec2 times(vec2 a, vec2 b) { return vec2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); }
vec2 turned(float angle) { return vec2(cos(angle), sin(angle)); }

void radix4(inout vec2 v[4]) {
  const vec2 even = v[0] + v[2], even_less = v[0] - v[2], odd = v[1] + v[3], odd_less = v[1] - v[3];
  const vec2 i_odd = direction * vec2(odd_less.y, -odd_less.x);
  v[0] = even + odd;
  v[1] = even_less + i_odd;
  v[2] = even - odd;
  v[3] = even_less - i_odd;
}

uint expand(uint lane, uint span) { return (lane / span) * span * 4 + lane % span; }

void main() {
  const uint lane = gl_LocalInvocationIndex, base = gl_WorkGroupID.x * kSize;
  vec2 v[4];
  for (int i = 0; i < 4; ++i) v[i] = signal[base + lane + 256 * i];
  for (uint span = 1; span < kSize; span *= 4) {
    if (span > 1) {
      const float angle = -direction * 6.2831853 * float(lane % span) / float(span * 4);
      for (int i = 1; i < 4; ++i) v[i] = times(v[i], turned(angle * float(i)));
    }
    radix4(v);
    const uint to = expand(lane, span);
    if (span * 4 == kSize) {
      for (int i = 0; i < 4; ++i) spectrum[base + to + span * i] = v[i];
      return;
    }
    barrier();
    for (int i = 0; i < 4; ++i) line[to + span * i] = v[i];
    barrier();
    for (int i = 0; i < 4; ++i) v[i] = line[lane + 256 * i];
  }
}
