// The layout of a counter record in GPU memory: the one place that both the instrumented code and
// the code that reads the counts back take it from.
//
// A record is what one action command (draw, dispatch, trace) writes. Its shaders find it through
// one 64-bit word, the address word, in a push constant or at the start of a uniform buffer:
//
//   63                                                    5   4   3       0
//   +------------------------------------------------------+---+-----------+
//   |  bits 5..63 of the record's device address           | N |  log2 S   |
//   +------------------------------------------------------+---+-----------+
//
// The address is a multiple of 32. S is the number of shards, 1 to 256; the code spreads its
// additions over them. N: kNumberedDraws. An address word of 0 means: write nothing.
//
// The record is an array of 64-bit little-endian counters (a 32-bit device writes low word, then
// high word: the same bytes). Shard follows shard; each holds the counters of all stages, in the
// order of the pipeline's stages, each with those of its CounterPlan:
//
//   shard 0                              shard 1
//   +---------+------------+-----------+---------+------------+-----------+-- -
//   | stage 0 |  stage 1   |  unused   | stage 0 |  stage 1   |  unused   | ... S-1
//   +---------+------------+-----------+---------+------------+-----------+-- -
//   |<---------- stride -------------->|
//             ^ first_counter(1)
//
// A stage begins at an even counter, so that one access may reach two of its counters at a time.
// Where there are several shards, the stride and the record's address are multiples of 128 bytes
// (16 counters), so two shards share no cache line. With one shard the record ends where its
// counters do, and takes 32 bytes for a tiny draw. Neither the stride nor first_counter(s), the
// room of the stages before s, depends on S; both reach the shader as specialization constants.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace tally::probe {

inline constexpr uint64_t kRecordAlignment = 32;
inline constexpr uint32_t kShardsLog2Mask = 0x0f;  // in the address word
// In the address word: the draw's record stands as many times kRecordAlignment further as the high
// half of its instance index says.
inline constexpr uint32_t kNumberedDraws = 0x10;
inline constexpr uint32_t kPackedDrawIndexShift = 16;
// All instance indices that have it, and the one behind them, are below 2^27, which every device
// allows with multiview.
inline constexpr uint32_t kMaxPackedDrawIndex = 0x7fe;
inline constexpr uint32_t kMaxShardsLog2 = 8;
inline constexpr uint32_t kCounterBytes = 8;
inline constexpr uint64_t kShardAlignment = 128;  // bytes; also of records with several shards

constexpr uint64_t align_up(uint64_t number, uint64_t granularity) {
  return (number + granularity - 1) / granularity * granularity;
}

// The room, in counters, that a stage with `counters` takes in each shard.
constexpr uint32_t stage_room(uint32_t counters) {
  return static_cast<uint32_t>(align_up(counters, 2));
}

// The stride, in counters, of shards whose stages take `room` together.
constexpr uint32_t shard_stride(uint32_t room) {
  return static_cast<uint32_t>(align_up(room, kShardAlignment / kCounterBytes));
}

// What the push constant or uniform buffer holds. `device_address` is a multiple of
// kRecordAlignment (0: write nothing), `shards_log2` at most kMaxShardsLog2.
constexpr uint64_t record_pointer(uint64_t device_address, uint32_t shards_log2) {
  return device_address == 0 ? 0 : device_address | shards_log2;
}

// Where a stage's counters stand in every record of a pipeline.
struct StageCounters {
  uint32_t first_counter = 0;  // room of the earlier stages
  uint32_t stride = 0;         // of shards; any where there is only one
};

// The index of counter `counter` of shard `shard`, in 64-bit words from the start of the record.
constexpr uint64_t counter_index(const StageCounters& stage, uint32_t shard, uint32_t counter) {
  return uint64_t{shard} * stage.stride + stage.first_counter + counter;
}

// The size of a record whose stages take `room` in each shard: such that another one with as many
// shards may follow.
constexpr uint64_t record_bytes(uint32_t room, uint32_t shards_log2) {
  if (shards_log2 == 0) return align_up(uint64_t{room} * kCounterBytes, kRecordAlignment);
  return (uint64_t{shard_stride(room)} << shards_log2) * kCounterBytes;
}

// The stage's counters, each summed over its shards: sums[c] for all c < sums.size(). `record` is
// the whole record; false, and sums untouched, if it is too short for them.
bool sum_shards(std::span<const uint64_t> record, const StageCounters& stage, uint32_t shards_log2,
                std::span<uint64_t> sums);

}  // namespace tally::probe
