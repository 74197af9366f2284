// tiny_draws.vert with the least code that counts its invocations.
#version 450
#extension GL_ARB_gpu_shader_int64 : require
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_shader_atomic_int64 : require
layout(buffer_reference, std430) buffer Record { uint64_t vertices, fragments, iterations, breaks, low; };
layout(push_constant) uniform Push { Record record; };

void main() {
  uint cell = gl_VertexIndex / 3, corner = gl_VertexIndex % 3;
  vec2 at = vec2(cell % 100, cell / 100) + vec2(corner & 1, corner >> 1);
  gl_Position = vec4(at / 50.0 - 1.0, 0, 1);
  atomicAdd(record.vertices, uint64_t(1));
}
