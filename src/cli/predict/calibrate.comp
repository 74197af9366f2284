// The kernels of `tally calibrate`: KERNEL_<name> chooses one. Each runs one loop of `count`
// iterations, and nothing else branches, so that the executions of its blocks are known.
#version 460
#if defined(KERNEL_float64)
#define REAL dvec4
#elif defined(KERNEL_int64)
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
#elif defined(KERNEL_subgroup)
#extension GL_KHR_shader_subgroup_arithmetic : require
#endif

#if defined(KERNEL_empty_wide)
layout(local_size_x = 256) in;
#else
layout(local_size_x = 64) in;
#endif
layout(set = 0, binding = 0) buffer Words {
  uint words[];
};
layout(set = 0, binding = 0) buffer Vectors {
  uvec4 vectors[];
};
layout(set = 0, binding = 1) uniform Values {
  uvec4 values[64];
};
layout(set = 0, binding = 2) uniform sampler2D picture;
layout(set = 0, binding = 3, rgba8) uniform image2D stored;
layout(constant_id = 0) const uint known_count = 0;  // 0: the push constant's
layout(push_constant) uniform Push {
  uint count;
  uint mask;    // of word indices
  uint stride;  // in elements, of memory kernels
  uint odd;
  float near_one;
  float small;
  float never;  // no result is equal to it
} push;

shared uint tile[1024];

// Accesses of invocations next to each other go to elements next to each other.
#if defined(KERNEL_load) || defined(KERNEL_spread_load) || defined(KERNEL_vector_load) || \
    defined(KERNEL_store) || defined(KERNEL_vector_store) || defined(KERNEL_shared_load) || \
    defined(KERNEL_shared_store) || defined(KERNEL_conflicting) || defined(KERNEL_atomic) || \
    defined(KERNEL_fma_and_load) || defined(KERNEL_special_and_shared)
#define FIRST 0u
#else
#define FIRST id ^ odd
#endif

#define FOUR(x) x x x x
#define SIXTEEN(x) FOUR(FOUR(x))

#if defined(KERNEL_empty) || defined(KERNEL_empty_wide)
void main() {
  if (gl_GlobalInvocationID.x == push.odd) words[0] = push.count;
}
#elif defined(KERNEL_touch)
void main() { words[gl_GlobalInvocationID.x] += push.odd; }
#else
void main() {
  // Read once: a read of a push constant in the loop would count as one.
  const uint count = known_count != 0 ? known_count : push.count, mask = push.mask, stride = push.stride, odd = push.odd;
  const float near_one = push.near_one, small = push.small;
  const uint id = gl_GlobalInvocationID.x;
  uint u = id, v = FIRST;
  vec4 a = vec4(id & 255u) * small, d = a + near_one;
  const vec4 b = vec4(near_one), c = vec4(small);
#if defined(KERNEL_float64)
  REAL e = REAL(a), f = REAL(d);
  const REAL g = REAL(b), h = REAL(c);
#elif defined(KERNEL_int64)
  uint64_t e = id, f = v;
  const uint64_t g = odd;
#endif
#if defined(KERNEL_barrier) || defined(KERNEL_shared_load) || defined(KERNEL_shared_store) || \
    defined(KERNEL_special_and_shared) || defined(KERNEL_conflicting)
  const uint lane = gl_LocalInvocationIndex;
  tile[lane * 16] = u;
  barrier();
#elif defined(KERNEL_uniform_load)
  uint uniform_index = stride;  // the same in all lanes
#endif
  for (uint i = 0; i < count; ++i) {
#if defined(KERNEL_float32)
    FOUR(a = a * b + c; d = max(d - c, b);)
#elif defined(KERNEL_fma)
    FOUR(a = fma(a, b, c); d = fma(d, b, c);)
#elif defined(KERNEL_float64)
    FOUR(e = e * g + h; f = f * g - h;)
#elif defined(KERNEL_int32)
    FOUR(u = (u ^ odd) + v; v = (v >> 3) - u; u = u * odd; v = (v & odd) | u;)
#elif defined(KERNEL_int64)
    FOUR(e = (e ^ g) + f; f = (f & g) - e;)
#elif defined(KERNEL_division)
    FOUR(a = d / (a + b); d = c / (d + b);)
#elif defined(KERNEL_remainder)
    FOUR(u = (odd ^ v) / (u | 1u); v = (u + odd) % (v | 3u);)
#elif defined(KERNEL_special)
    FOUR(a = sin(a); d = inversesqrt(d + b); a = exp2(a); d = log2(d + b);)
#elif defined(KERNEL_conversion)
    FOUR(a = vec4(ivec4(a + d)); d = vec4(uvec4(d + b));)
#elif defined(KERNEL_select)
    FOUR(a = mix(a, d, greaterThan(d, a)); d = mix(b, a, lessThan(a, c));)
#elif defined(KERNEL_loop)
    u = u * odd + v;
#elif defined(KERNEL_load)
    SIXTEEN(u += words[(id + v) & mask]; v += stride;)
#elif defined(KERNEL_spread_load)
    SIXTEEN(u += words[((id + v) * 32u) & mask]; v += stride;)  // each in a line of its own
#elif defined(KERNEL_vector_load)
    uvec4 w;
    FOUR(w = vectors[(id + v) & mask >> 2]; u += w.x ^ w.y ^ w.z ^ w.w; v += stride;)
#elif defined(KERNEL_store)
    SIXTEEN(words[(id + v) & mask] = u; v += stride;)
#elif defined(KERNEL_vector_store)
    FOUR(vectors[(id + v) & mask >> 2] = uvec4(u, v, u, i); v += stride;)
#elif defined(KERNEL_chase)
    SIXTEEN(u = words[(u + v) & mask];)
#elif defined(KERNEL_uniform_load)
    SIXTEEN(u += values[uniform_index & 63u].x; uniform_index += stride;)
#elif defined(KERNEL_shared_load)
    SIXTEEN(u += tile[(lane + v) & 1023u]; v += stride;)
#elif defined(KERNEL_conflicting)
    SIXTEEN(u += tile[((lane + v) * 32u) & 1023u]; v += stride;)  // 32 words of one bank
#elif defined(KERNEL_shared_store)
    SIXTEEN(tile[(lane + v) & 1023u] = u; v += stride;)
#elif defined(KERNEL_atomic)
    FOUR(atomicAdd(words[(id + v) & mask], u); v += stride;)
#elif defined(KERNEL_contended)
    FOUR(atomicAdd(words[v & 1u], u); v += 1;)
#elif defined(KERNEL_barrier)
    FOUR(barrier();)
    u += 1;
#elif defined(KERNEL_subgroup)
    FOUR(u = subgroupAdd(u ^ v);)
#elif defined(KERNEL_sample)
    FOUR(a += textureLod(picture, a.xy + vec2(c.x, float(i) * b.x), 0.0) * small;)
#elif defined(KERNEL_fetch)
    FOUR(a += texelFetch(picture, ivec2(u & 255u, v >> 8 & 255u), 0); v += stride; u += 1;)
#elif defined(KERNEL_image_load)
    FOUR(a += imageLoad(stored, ivec2(u & 255u, v >> 8 & 255u)); v += stride; u += 1;)
#elif defined(KERNEL_image_store)
    FOUR(imageStore(stored, ivec2(u & 255u, v >> 8 & 255u), a); v += stride; u += 1;)
#elif defined(KERNEL_fma_and_load)
    FOUR(a = fma(a, b, c); d = fma(d, b, c);)
    u += words[(id + v) & mask];
    v += stride;
#elif defined(KERNEL_special_and_shared)
    a = sin(a);
    FOUR(u += tile[(lane + v) & 1023u]; v += stride;)
#endif
  }
#if defined(KERNEL_shared_store)
  barrier();
  u += tile[(lane + v) & 1023u];
#elif defined(KERNEL_float64)
  a += vec4(e + f);
#elif defined(KERNEL_int64)
  u += uint(e + f) ^ uint((e ^ f) >> 32);
#endif
  const vec4 sum = a + d;
  if (sum.x + sum.y + sum.z + sum.w + float(u ^ v) == push.never) words[id & mask] = u;
}
#endif
