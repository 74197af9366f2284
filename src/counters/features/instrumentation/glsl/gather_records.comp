// Moves the counters of records to the results that the host reads: adds the sum over the shards to the
// result, and zeroes the shards. A workgroup processes some of a record's counters.
#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_buffer_reference_uvec2 : require
#extension GL_EXT_control_flow_attributes : require

layout(local_size_x = 128) in;

// GatherRun in instrumentation/gather.cpp. 64-bit numbers are pairs of words.
struct Run {
  uvec2 source, target;
  uint counters;  // of a record
  uint records;
  uint shards_log2;
  uint stride;           // between shards, in bytes
  uint source_distance;  // between records, in bytes
  uint target_distance;
  uint first_group;
  uint groups_of_record;
};
layout(buffer_reference, std430, buffer_reference_align = 8) readonly buffer Runs {
  uint count;
  uint groups;
  Run at[];
};
layout(buffer_reference, std430, buffer_reference_align = 8) buffer Number {
  uvec2 value;
};

// The layer sets the offset, which differs between devices (internal_objects.cpp).
layout(push_constant) uniform Push {
  layout(offset = 96) uvec2 address;
};

const uint kShardsOfShare = 8;  // at most: 256 shards, 32 shares

shared uint chosen;
shared uvec2 sums[128];

uvec2 add(uvec2 a, uvec2 b) {
  uint carry;
  const uint low = uaddCarry(a.x, b.x, carry);
  return uvec2(low, a.y + b.y + carry);
}

void main() {
  Runs runs = Runs(address);
  const uint group = gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;
  if (group >= runs.groups) return;
  for (uint i = gl_LocalInvocationIndex; i < runs.count; i += 128) {
    const uint first = runs.at[i].first_group;
    if (group >= first && group - first < runs.at[i].records * runs.at[i].groups_of_record) chosen = i;
  }
  barrier();
  const Run run = runs.at[chosen];

  // Each invocation takes a share of the shards of one counter.
  const uint shards = 1u << run.shards_log2;
  const uint shares_log2 = min(run.shards_log2, 5);
  const uint together_log2 = 7 - shares_log2;  // counters of a workgroup
  const uint record = (group - run.first_group) / run.groups_of_record;
  const uint part = (group - run.first_group) % run.groups_of_record;
  const uint counter =
      (part << together_log2) + (gl_LocalInvocationIndex & ((1u << together_log2) - 1));
  const uint share = gl_LocalInvocationIndex >> together_log2;
  const bool counts = counter < run.counters;
  const uvec2 source = add(run.source, uvec2(record * run.source_distance + counter * 8, 0));
  Number target = Number(add(run.target, uvec2(record * run.target_distance + counter * 8, 0)));
  const uvec2 before = counts && share == 0 ? target.value : uvec2(0);

  // All loads are independent.
  uvec2 values[kShardsOfShare];
  [[unroll]] for (uint i = 0; i < kShardsOfShare; ++i) {
    const uint shard = share + (i << shares_log2);
    values[i] = uvec2(0);
    if (counts && shard < shards) values[i] = Number(add(source, uvec2(shard * run.stride, 0))).value;
  }
  uvec2 sum = uvec2(0);
  [[unroll]] for (uint i = 0; i < kShardsOfShare; ++i) {
    if (values[i] == uvec2(0)) continue;
    const uint shard = share + (i << shares_log2);
    Number(add(source, uvec2(shard * run.stride, 0))).value = uvec2(0);
    sum = add(sum, values[i]);
  }
  for (uint half_log2 = shares_log2; half_log2 != 0;) {
    sums[gl_LocalInvocationIndex] = sum;
    barrier();
    --half_log2;
    if (share < 1u << half_log2) {
      sum = add(sum, sums[gl_LocalInvocationIndex + (1u << (half_log2 + together_log2))]);
    }
    barrier();
  }
  if (counts && share == 0 && sum != uvec2(0)) target.value = add(before, sum);
}
