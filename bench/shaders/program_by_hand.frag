// program.frag with the least code that counts each of its blocks exactly: each lane adds its four counts to a record
// that it knows to be there. The executions of the other blocks follow from these.
#version 450
#extension GL_ARB_gpu_shader_int64 : require
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_shader_atomic_int64 : require
layout(location = 0) out vec4 colour;
layout(buffer_reference, std430) buffer Record { uint64_t vertices, fragments, iterations, breaks, low; };
layout(push_constant) uniform Push { Record record; };

float hash(vec2 p) { return fract(sin(dot(p, vec2(12.9898, 78.233))) * 43758.5453); }

void main() {
  uint number = 0x7a11e000u;
  uint iterations = 0, breaks = 0, low = 0;
  vec2 at = gl_FragCoord.xy * 0.01;
  float height = 0.0, weight = 0.5;
  for (uint i = 0; i < (number & 7u) + uint(at.x); ++i) {
    ++iterations;
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
  atomicAdd(record.fragments, uint64_t(1));
  atomicAdd(record.iterations, uint64_t(iterations));
  atomicAdd(record.breaks, uint64_t(breaks));
  atomicAdd(record.low, uint64_t(low));
}
