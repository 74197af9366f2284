#version 450
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_ballot : require
#extension GL_KHR_shader_subgroup_shuffle : require
#extension GL_KHR_shader_subgroup_vote : require
#extension GL_KHR_memory_scope_semantics : require
layout(local_size_x_id = 3, local_size_y = 1) in;
layout(constant_id = 0) const int kRounds = 4;
layout(constant_id = 1) const bool kExtra = false;
layout(set = 0, binding = 0) buffer Data { uint count; uint values[]; } data;
layout(set = 0, binding = 1) readonly buffer Wide { uint64_t wide[]; };
layout(set = 0, binding = 2) buffer Half { f16vec4 halves[]; };
layout(set = 0, binding = 3) buffer Tiny { i8vec4 tiny[]; };
layout(set = 0, binding = 4) buffer Doubles { dvec2 doubles[]; };
shared uint scratch[64];

uint collatz(uint n) {
  uint steps = 0;
  while (n != 1u) {
    if ((n & 1u) == 0u) {
      n /= 2u;
    } else {
      n = 3u * n + 1u;
    }
    ++steps;
    if (steps > 1000u) return 0u;
  }
  return steps;
}

void main() {
  uint id = gl_GlobalInvocationID.x;
  if (id >= data.count) return;
  scratch[gl_LocalInvocationIndex] = collatz(id + 1u);
  barrier();
  uint sum = 0;
  for (int round = 0; round < kRounds; ++round) {
    do {
      sum += scratch[(gl_LocalInvocationIndex + uint(round)) % 64u];
      if (sum > 1000000u) break;
    } while (subgroupAny(sum < 10u));
  }
  if (kExtra) {
    halves[id] = halves[id] * float16_t(2.0) + f16vec4(sum);
    tiny[id] = tiny[id] + i8vec4(sum);
    doubles[id] = sqrt(doubles[id]) / double(sum);
  }
  switch (uint(wide[id]) & 3u) {
    case 0u:
      sum += 1u;
      break;
    case 1u:
      sum *= 3u;
    case 2u:
      sum = subgroupAdd(sum);
      break;
    default:
      break;
  }
  if (subgroupElect()) atomicAdd(data.count, bitCount(sum));
  atomicStore(data.values[id], subgroupShuffleXor(sum, 1u), gl_ScopeDevice, gl_StorageSemanticsBuffer,
              gl_SemanticsRelease);
}
