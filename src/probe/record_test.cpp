#include "probe/record.h"

#include <gtest/gtest.h>

#include <vector>

namespace tally::probe {
namespace {

TEST(Record, stages_begin_at_even_counters_and_shards_at_cache_lines) {
  EXPECT_EQ(stage_capacity(0), 0u);
  EXPECT_EQ(stage_capacity(1), 2u);
  EXPECT_EQ(stage_capacity(2), 2u);
  EXPECT_EQ(shard_stride(0), 0u);
  EXPECT_EQ(shard_stride(2), 16u);
  EXPECT_EQ(shard_stride(16), 16u);
  EXPECT_EQ(shard_stride(18), 32u);
}

TEST(Record, one_shard_has_no_padding_beyond_its_counters) {
  EXPECT_EQ(record_bytes(0, 0), 0u);
  EXPECT_EQ(record_bytes(2, 0), 32u);
  EXPECT_EQ(record_bytes(4, 0), 32u);
  EXPECT_EQ(record_bytes(6, 0), 64u);
  EXPECT_EQ(record_bytes(4, 1), 256u);
  EXPECT_EQ(record_bytes(18, 8), 256u * 256);
}

TEST(Record, record_pointer_encodes_the_shards_and_null_stays_null) {
  EXPECT_EQ(record_pointer(0x1234567820, 8), 0x1234567828u);
  EXPECT_EQ(record_pointer(0, 6), 0u);
}

TEST(Record, address_shards_and_packed_draw_flag_do_not_overlap) {
  constexpr uint64_t kAddressBits = ~(kRecordAlignment - 1);
  EXPECT_EQ(kAddressBits & (kShardsLog2Mask | kNumberedDraws), 0u);
  EXPECT_EQ(kShardsLog2Mask & kNumberedDraws, 0u);
  EXPECT_EQ(kMaxShardsLog2 & kShardsLog2Mask, kMaxShardsLog2);
  EXPECT_EQ(kShardAlignment % kRecordAlignment, 0u);
}

// Checks every counter of every stage and shard.
TEST(Record, counters_do_not_overlap_for_any_number_of_shards) {
  constexpr uint32_t kCounters[] = {1, 33, 2};
  uint32_t capacity = 0;
  std::vector<StageCounters> stages;
  for (const uint32_t counters : kCounters) {
    EXPECT_EQ(capacity % 2, 0u);
    stages.push_back({capacity, 0});
    capacity += stage_capacity(counters);
  }
  for (StageCounters& stage : stages) stage.stride = shard_stride(capacity);
  for (uint32_t log2 = 0; log2 <= kMaxShardsLog2; ++log2) {
    std::vector<uint32_t> uses(record_bytes(capacity, log2) / kCounterBytes);
    for (size_t stage = 0; stage < stages.size(); ++stage) {
      for (uint32_t shard = 0; shard < 1u << log2; ++shard) {
        for (uint32_t i = 0; i < kCounters[stage]; ++i) {
          const uint64_t index = counter_index(stages[stage], shard, i);
          ASSERT_LT(index, uses.size());
          EXPECT_EQ(++uses[index], 1u);
        }
      }
    }
  }
}

TEST(Record, shards_are_summed_counter_by_counter) {
  const StageCounters stage{6, 32};
  std::vector<uint64_t> record(32 * 4);
  for (uint32_t shard = 0; shard < 4; ++shard) {
    record[counter_index(stage, shard, 3)] = shard + 1;
    record[counter_index(stage, shard, 15)] = uint64_t{1} << 40;
  }
  std::vector<uint64_t> sums(16, 77);
  ASSERT_TRUE(sum_shards(record, stage, 2, sums));
  EXPECT_EQ(sums[0], 0u);
  EXPECT_EQ(sums[3], 10u);
  EXPECT_EQ(sums[15], uint64_t{1} << 42);
}

TEST(Record, a_record_too_short_for_the_stage_is_rejected) {
  const StageCounters stage{6, 32};
  const std::vector<uint64_t> record(32 * 3 + 6 + 16 - 1);
  std::vector<uint64_t> sums(16, 77);
  EXPECT_FALSE(sum_shards(record, stage, 2, sums));
  EXPECT_FALSE(sum_shards(record, stage, 40, sums));
  EXPECT_FALSE(sum_shards({}, stage, 0, sums));
  EXPECT_EQ(sums[0], 77u);
  EXPECT_TRUE(sum_shards(record, stage, 2, std::span(sums).first(15)));
}

}  // namespace
}  // namespace tally::probe
