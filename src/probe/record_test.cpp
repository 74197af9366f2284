#include "probe/record.h"

#include <gtest/gtest.h>

#include <vector>

namespace tally::probe {
namespace {

TEST(Record, strides_are_whole_cache_lines) {
  EXPECT_EQ(stride_for(0), 0u);
  EXPECT_EQ(stride_for(1), 16u);
  EXPECT_EQ(stride_for(16), 16u);
  EXPECT_EQ(stride_for(17), 32u);
}

TEST(Record, address_word_carries_the_shards_and_null_stays_null) {
  EXPECT_EQ(address_word(0x1234567800, 6), 0x1234567806u);
  EXPECT_EQ(address_word(0, 6), 0u);
}

TEST(Record, stages_follow_each_other_for_every_number_of_shards) {
  const StageCounters vertex{0, 16};
  const StageCounters fragment{16, 48};
  for (uint32_t log2 = 0; log2 <= kMaxShardsLog2; ++log2) {
    const uint32_t shards = 1u << log2;
    EXPECT_EQ(counter_index(vertex, log2, shards, 0), counter_index(fragment, log2, 0, 0));
    EXPECT_EQ(counter_index(fragment, log2, shards, 0) * kCounterBytes, record_bytes(64, log2));
  }
}

TEST(Record, shards_are_summed_counter_by_counter) {
  const StageCounters stage{16, 16};
  std::vector<uint64_t> record(32 * 4);
  for (uint32_t shard = 0; shard < 4; ++shard) {
    record[counter_index(stage, 2, shard, 3)] = shard + 1;
    record[counter_index(stage, 2, shard, 15)] = uint64_t{1} << 40;
  }
  std::vector<uint64_t> sums(16, 77);
  ASSERT_TRUE(sum_shards(record, stage, 2, sums));
  EXPECT_EQ(sums[0], 0u);
  EXPECT_EQ(sums[3], 10u);
  EXPECT_EQ(sums[15], uint64_t{1} << 42);
}

TEST(Record, a_record_too_short_for_the_stage_is_rejected) {
  const StageCounters stage{16, 16};
  const std::vector<uint64_t> record(32 * 4 - 1);
  std::vector<uint64_t> sums(16, 77);
  EXPECT_FALSE(sum_shards(record, stage, 2, sums));
  EXPECT_FALSE(sum_shards(record, stage, 40, sums));
  EXPECT_EQ(sums[0], 77u);
}

}  // namespace
}  // namespace tally::probe
