// The layout of a counter record in GPU memory: the one place that both the instrumented code and
// the code that reads the counts back take it from.
//
// A record is what one action command (draw, dispatch, trace) writes. Its shaders find it through
// one 64-bit word, the address word, in a push constant or at the start of a uniform buffer:
//
//   63                                              8 7 6 5         0
//   +------------------------------------------------+---+-----------+
//   |  bits 8..63 of the record's device address     | 0 |  log2 S   |
//   +------------------------------------------------+---+-----------+
//
// The address is a multiple of 256, so its low byte is free. S is the number of shards, 1 to 64;
// the code spreads its additions over them. An address word of 0 means: write nothing.
//
// The record is an array of 64-bit little-endian counters (a 32-bit device writes low word, then
// high word: the same bytes). The instrumented stages follow each other in the order of the
// pipeline's stages, each with its shards, each shard with the counters of the stage's CounterPlan:
//
//   stage 0                          stage 1
//   +---------+---------+-- --------+------+------+-- -
//   | shard 0 | shard 1 | ... S-1   | sh 0 | sh 1 | ...
//   +---------+---------+-- --------+------+------+-- -
//   |<-stride0->|                    ^ counter (first_counter(1) << log2 S)
//
// A stride is a multiple of 16 counters (128 bytes), so two shards share no cache line.
// first_counter(s) is the sum of the strides of the stages before s: it does not depend on S, and
// reaches the shader as a specialization constant.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace tally::probe {

inline constexpr uint64_t kRecordAlignment = 256;
inline constexpr uint32_t kShardsLog2Mask = 0x3f;  // in the address word
inline constexpr uint32_t kMaxShardsLog2 = 6;
inline constexpr uint32_t kCounterBytes = 8;
inline constexpr uint32_t kStrideGranularity = 16;  // counters

// The smallest legal stride that holds `counters`.
constexpr uint32_t stride_for(uint32_t counters) {
  return (counters + kStrideGranularity - 1) / kStrideGranularity * kStrideGranularity;
}

// What the push constant or uniform buffer holds. `device_address` is a multiple of
// kRecordAlignment (0: write nothing), `shards_log2` at most kMaxShardsLog2.
constexpr uint64_t address_word(uint64_t device_address, uint32_t shards_log2) {
  return device_address == 0 ? 0 : device_address | shards_log2;
}

// Where a stage's counters stand in every record of a pipeline.
struct StageCounters {
  uint32_t first_counter = 0;  // sum of the strides of the earlier stages
  uint32_t stride = 0;         // CounterPlan::counters_per_shard
};

// The index of counter `counter` of shard `shard`, in 64-bit words from the start of the record.
constexpr uint64_t counter_index(const StageCounters& stage, uint32_t shards_log2, uint32_t shard,
                                 uint32_t counter) {
  return (uint64_t{stage.first_counter} << shards_log2) + uint64_t{shard} * stage.stride + counter;
}

// The size of a record whose stages' strides add up to `total_stride`.
constexpr uint64_t record_bytes(uint32_t total_stride, uint32_t shards_log2) {
  return (uint64_t{total_stride} << shards_log2) * kCounterBytes;
}

// The stage's counters, each summed over its shards: sums[c] for c < min(stage.stride,
// sums.size()). `record` is the whole record; false, and sums untouched, if it is too short for the
// stage.
bool sum_shards(std::span<const uint64_t> record, const StageCounters& stage, uint32_t shards_log2,
                std::span<uint64_t> sums);

}  // namespace tally::probe
