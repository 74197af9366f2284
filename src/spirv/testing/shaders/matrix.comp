#version 450
#extension GL_NV_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
layout(local_size_x = 32) in;
layout(constant_id = 0) const uint kDepth = 8;
layout(set = 0, binding = 0) buffer A { float16_t a[]; };
layout(set = 0, binding = 1) buffer B { float16_t b[]; };
layout(set = 0, binding = 2) buffer C { float c[]; };
void main() {
  fcoopmatNV<16, gl_ScopeSubgroup, 16, kDepth> left;
  fcoopmatNV<16, gl_ScopeSubgroup, kDepth, 16> right;
  fcoopmatNV<32, gl_ScopeSubgroup, 16, 16> sum = fcoopmatNV<32, gl_ScopeSubgroup, 16, 16>(0.0);
  for (uint i = 0u; i < 4u; ++i) {
    coopMatLoadNV(left, a, i * 128u, 8u, false);
    coopMatLoadNV(right, b, i * 128u, 16u, false);
    sum = coopMatMulAddNV(left, right, sum);
  }
  coopMatStoreNV(sum, c, 0u, 16u, false);
}
