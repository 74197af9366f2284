// Kernels of calibrate.comp as fragment shaders: KERNEL_<name> chooses one. Some GPUs run graphics on a part of their
// processors, so the same work may take longer here.
#version 460

layout(set = 0, binding = 0) readonly buffer Words {
  uint words[];
};
layout(set = 0, binding = 2) uniform sampler2D picture;
layout(push_constant) uniform Push {
  uint count;
  uint mask;
  uint stride;
  uint odd;
  float near_one;
  float small;
  float never;
} push;
layout(location = 0) out vec4 color;

#define FOUR(x) x x x x
#define SIXTEEN(x) FOUR(FOUR(x))

#if defined(KERNEL_empty)
void main() { color = vec4(push.small); }
#else
void main() {
  const uint count = push.count, mask = push.mask, stride = push.stride;
  const float near_one = push.near_one, small = push.small;
  const uint id = uint(gl_FragCoord.y) * 1024u + uint(gl_FragCoord.x);
  uint u = id, v = 0u;
  vec4 a = vec4(id & 255u) * small, d = a + near_one;
  const vec4 b = vec4(near_one), c = vec4(small);
  for (uint i = 0; i < count; ++i) {
#if defined(KERNEL_fma)
    FOUR(a = fma(a, b, c); d = fma(d, b, c);)
#elif defined(KERNEL_load)
    SIXTEEN(u += words[(id + v) & mask]; v += stride;)
#elif defined(KERNEL_sample)
    FOUR(a += textureLod(picture, a.xy + vec2(c.x, float(i) * b.x), 0.0) * small;)
#endif
  }
  color = a + d + vec4(u ^ v);
}
#endif
