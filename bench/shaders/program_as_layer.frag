// program.frag counted by hand, knowing only what a layer knows: the record may be missing, the vertex shader says where
// the draw's record is, and llvmpipe drops overdrawn fragments unless the shader contains a discard. The variable of the
// loop says how many iterations there were. Each lane adds: that takes llvmpipe least to compile.
#version 450
#extension GL_ARB_gpu_shader_int64 : require
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_shader_atomic_int64 : require
layout(early_fragment_tests) in;
layout(location = 0) out vec4 colour;
layout(location = 0) flat in uint distance_to_record;  // in bytes, a multiple of 8
layout(buffer_reference, std430) buffer Record { uint64_t vertices, fragments, iterations, breaks, low; };
layout(push_constant) uniform Push { uint64_t records; };

float hash(vec2 p) { return fract(sin(dot(p, vec2(12.9898, 78.233))) * 43758.5453); }

void main() {
  uint number = 0x7a11e000u;
  uint breaks = 0, low = 0;
  vec2 at = gl_FragCoord.xy * 0.01;
  float height = 0.0, weight = 0.5;
  uint i = 0;
  for (; i < (number & 7u) + uint(at.x); ++i) {
    height += weight * hash(at + vec2(i));
    at *= 2.03;
    weight *= 0.5;
    if (height > 0.9) {
      breaks = 1;
      break;
    }
  }
  if (height < 0.05) {
    low = 1;
    height += float(number) * 1e-9;
  }
  colour = vec4(vec3(height), 1);
  if (distance_to_record == 1) discard;  // never
  if (records != 0) {
    Record record = Record(records + distance_to_record);
    atomicAdd(record.fragments, uint64_t(1));
    atomicAdd(record.iterations, uint64_t(i + breaks));
    atomicAdd(record.breaks, uint64_t(breaks));
    atomicAdd(record.low, uint64_t(low));
  }
}
