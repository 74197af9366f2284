// gaussian_blur.comp with the simplest code that counts its blocks: private counts, a sum of the subgroup for each, which
// one lane adds to a counter at a known address. Assumes that no sum of a subgroup exceeds 32 bits.
#version 450
#extension GL_ARB_gpu_shader_int64 : require
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_shader_atomic_int64 : require
#extension GL_KHR_shader_subgroup_arithmetic : require
layout(local_size_x = 32, local_size_y = 8) in;
layout(set = 0, binding = 1) readonly buffer Kernel { float coefficients[]; };
layout(set = 0, binding = 3) writeonly buffer Output { vec4 result[]; };
layout(set = 0, binding = 4) uniform sampler2D frame;
layout(buffer_reference, std430, buffer_reference_align = 8) buffer Record { uint64_t counters[8]; };
layout(push_constant) uniform Push { int radius; int planes; int vertical; layout(offset = 16) Record record; };

// Invocations, those inside, chosen planes, steps, and the four corrections.
uint counts[8] = uint[](1, 0, 0, 0, 0, 0, 0, 0);

ivec2 mirrored(ivec2 at, ivec2 size) {
  if (at.x < 0) { at.x = -at.x; ++counts[4]; }
  if (at.y < 0) { at.y = -at.y; ++counts[5]; }
  if (at.x >= size.x) { at.x = 2 * size.x - 2 - at.x; ++counts[6]; }
  if (at.y >= size.y) { at.y = 2 * size.y - 2 - at.y; ++counts[7]; }
  return at;
}

vec4 blur(ivec2 at, ivec2 size) {
  vec4 sum = texelFetch(frame, at, 0) * coefficients[0];
  const ivec2 along = vertical != 0 ? ivec2(0, 1) : ivec2(1, 0);
  for (int i = 1; i <= radius; ++i) {
    ++counts[3];
    sum += texelFetch(frame, mirrored(at - along * i, size), 0) * coefficients[i];
    sum += texelFetch(frame, mirrored(at + along * i, size), 0) * coefficients[i];
  }
  return sum;
}

void main() {
  const ivec2 size = textureSize(frame, 0), at = ivec2(gl_GlobalInvocationID.xy);
  if (all(lessThan(at, size))) {
    counts[1] = 1;
    for (int plane = 0; plane < 4; ++plane) {
      const int index = at.y * size.x + at.x;
      if ((planes & (1 << plane)) != 0) {
        ++counts[2];
        result[index][plane] = blur(at, size)[plane];
      } else {
        result[index][plane] = texelFetch(frame, at, 0)[plane];
      }
    }
  }
  uint sums[8];
  for (int i = 0; i < 8; ++i) sums[i] = subgroupAdd(counts[i]);
  if (subgroupElect()) {
    for (int i = 0; i < 8; ++i) atomicAdd(record.counters[i], uint64_t(sums[i]));
  }
}
