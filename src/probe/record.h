// The layout of a counter record in GPU memory. The instrumented code and the code that reads the
// counts back both take the layout from this header.
//
// An action command (draw, dispatch, trace) writes one record. Its shaders find the record through
// a 64-bit tagged record pointer in a push constant or at the start of a uniform buffer:
//
//   63                                                    5   4   3       0
//   +------------------------------------------------------+---+-----------+
//   |  bits 5..63 of the record's device address           | N |  log2 S   |
//   +------------------------------------------------------+---+-----------+
//
// The address is a multiple of 32 bytes. S is the number of shards, 1 to 256; the code spreads its
// additions over them. N is kNumberedDraws. A pointer of 0 disables counting.
//
// The record is an array of 64-bit little-endian counters. (A 32-bit device writes the low word,
// then the high word: the same bytes.) The shards follow each other. Each shard holds the counters
// of all stages, in pipeline order; each stage has the counters of its CounterPlan:
//
//   shard 0                              shard 1
//   +---------+------------+-----------+---------+------------+-----------+-- -
//   | stage 0 |  stage 1   |  unused   | stage 0 |  stage 1   |  unused   | ... S-1
//   +---------+------------+-----------+---------+------------+-----------+-- -
//   |<---------- stride -------------->|
//             ^ first_counter(1)
//
// A stage begins at an even counter, so that one access can cover two of its counters. With several
// shards, the stride and the record's address are multiples of 128 bytes (16 counters), so that all
// shards have their own cache lines. With one shard, the record ends after its last counter; a tiny
// draw takes 32 bytes. Neither the stride nor first_counter(s), the capacity of the stages before
// s, depends on S. Both reach the shader as specialization constants, in bytes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace tally::probe {

inline constexpr uint64_t kRecordAlignment = 32;
inline constexpr uint32_t kShardsLog2Mask = 0x0f;  // of a tagged record pointer
// A bit of a tagged record pointer. If it is set, the high half of the instance index is the packed
// draw index: the draw's record is that many times kRecordAlignment bytes after the pointer's
// address.
inline constexpr uint32_t kNumberedDraws = 0x10;
inline constexpr uint32_t kPackedDrawIndexShift = 16;
// Every instance index with a packed draw index, and the index after it, is below 2^27. Every
// device supports such indices with multiview.
inline constexpr uint32_t kMaxPackedDrawIndex = 0x7fe;
inline constexpr uint32_t kMaxShardsLog2 = 8;
inline constexpr uint32_t kCounterBytes = 8;
inline constexpr uint64_t kShardAlignment = 128;  // bytes; also aligns records with several shards

constexpr uint64_t align_up(uint64_t number, uint64_t granularity) {
  return (number + granularity - 1) / granularity * granularity;
}

// The capacity, in counters, of a stage with `counters` counters in each shard.
constexpr uint32_t stage_capacity(uint32_t counters) {
  return static_cast<uint32_t>(align_up(counters, 2));
}

// The stride, in counters, of shards whose stages have the total capacity `capacity`.
constexpr uint32_t shard_stride(uint32_t capacity) {
  return static_cast<uint32_t>(align_up(capacity, kShardAlignment / kCounterBytes));
}

// The tagged record pointer for a push constant or uniform buffer. `device_address` is a multiple
// of kRecordAlignment, or 0 to disable counting; `shards_log2` is at most kMaxShardsLog2.
constexpr uint64_t record_pointer(uint64_t device_address, uint32_t shards_log2) {
  return device_address == 0 ? 0 : device_address | shards_log2;
}

// The position of a stage's counters in every record of a pipeline, in counters.
struct StageCounters {
  uint32_t first_counter = 0;  // capacity of the earlier stages
  uint32_t stride = 0;         // between shards; unused with one shard
};

// The size of counters, in bytes.
constexpr uint32_t counter_bytes(uint32_t counters) { return counters * kCounterBytes; }

// The index of counter `counter` of shard `shard`, in 64-bit words from the start of the record.
constexpr uint64_t counter_index(const StageCounters& stage, uint32_t shard, uint32_t counter) {
  return uint64_t{shard} * stage.stride + stage.first_counter + counter;
}

// The size, in bytes, of a record whose stages have the total capacity `capacity`, in counters, in
// each shard. It includes the padding that aligns a following record with the same number of
// shards.
constexpr uint64_t record_bytes(uint32_t capacity, uint32_t shards_log2) {
  if (shards_log2 == 0) return align_up(uint64_t{capacity} * kCounterBytes, kRecordAlignment);
  return (uint64_t{shard_stride(capacity)} << shards_log2) * kCounterBytes;
}

// Sums each counter of the stage over its shards into sums[c], for all c < sums.size(). `record` is
// the whole record. Returns false, and leaves `sums` untouched, if `record` is too short or
// `shards_log2` exceeds kMaxShardsLog2.
inline bool sum_shards(std::span<const uint64_t> record, const StageCounters& stage,
                       uint32_t shards_log2, std::span<uint64_t> sums) {
  if (shards_log2 > kMaxShardsLog2) return false;
  const uint32_t last = (1u << shards_log2) - 1;
  if (counter_index(stage, last, 0) + sums.size() > record.size()) return false;
  std::ranges::copy(record.subspan(counter_index(stage, 0, 0), sums.size()), sums.begin());
  for (uint32_t shard = 1; shard <= last; ++shard) {
    const auto counters = record.subspan(counter_index(stage, shard, 0), sums.size());
    for (size_t i = 0; i < sums.size(); ++i) sums[i] += counters[i];
  }
  return true;
}

}  // namespace tally::probe
