// The simplest code that counts a shader's blocks: private counts, a sum of the subgroup for each, which one lane adds to a
// counter at a known address. No sum of a subgroup may exceed 32 bits. The patches in this folder define FLAGS and COUNTS, the
// initial values, and count.
#extension GL_ARB_gpu_shader_int64 : require
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_shader_atomic_int64 : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_ballot : require
layout(buffer_reference, std430, buffer_reference_align = 8) buffer Record { uint64_t counters[]; };

bool flags[] = {FLAGS};   // of the invocation, and of blocks that it executes at most once
uint counts[] = {COUNTS};  // of the other blocks

void add_counts(Record record, bool live) {
  const uvec4 counting = subgroupBallot(live);
  uint sums[flags.length() + counts.length()];
  for (int i = 0; i < flags.length(); ++i) sums[i] = subgroupBallotBitCount(subgroupBallot(live && flags[i]));
  for (int i = 0; i < counts.length(); ++i) sums[flags.length() + i] = subgroupAdd(live ? counts[i] : 0);
  if (gl_SubgroupInvocationID == subgroupBallotFindLSB(counting)) {
    for (int i = 0; i < sums.length(); ++i) atomicAdd(record.counters[i], uint64_t(sums[i]));
  }
}
