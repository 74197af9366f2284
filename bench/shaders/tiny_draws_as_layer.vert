// tiny_draws.vert counted by hand, knowing only what a layer knows: the record may be missing, and the upper half of the
// instance index tells draws apart.
#version 450
#extension GL_ARB_gpu_shader_int64 : require
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_shader_atomic_int64 : require
layout(location = 0) flat out uint distance_to_record;
layout(buffer_reference, std430) buffer Record { uint64_t vertices, fragments, iterations, breaks, low; };
layout(push_constant) uniform Push {
  uint64_t records;
  uint stride;  // of records, in bytes
};

void main() {
  uint cell = gl_VertexIndex / 3, corner = gl_VertexIndex % 3;
  vec2 at = vec2(cell % 100, cell / 100) + vec2(corner & 1, corner >> 1);
  gl_Position = vec4(at / 50.0 - 1.0, 0, 1);
  distance_to_record = (gl_InstanceIndex >> 16) * stride;
  if (records != 0) atomicAdd(Record(records + distance_to_record).vertices, uint64_t(1));
}
