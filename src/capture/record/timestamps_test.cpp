#include "capture/record/timestamps.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tally::capture {
namespace {

std::string written;

DeviceTable logging_table() {
  DeviceTable table{};
  table.CreateQueryPool = [](VkDevice, const VkQueryPoolCreateInfo*, const VkAllocationCallbacks*,
                             VkQueryPool* pool) {
    *pool = reinterpret_cast<VkQueryPool>(uintptr_t{1});
    return VK_SUCCESS;
  };
  table.DestroyQueryPool = [](VkDevice, VkQueryPool, const VkAllocationCallbacks*) {};
  table.CmdResetQueryPool = [](VkCommandBuffer, VkQueryPool, uint32_t, uint32_t) {};
  table.CreateRenderPass = [](VkDevice, const VkRenderPassCreateInfo*, const VkAllocationCallbacks*,
                              VkRenderPass* pass) {
    *pass = reinterpret_cast<VkRenderPass>(uintptr_t{1});
    return VK_SUCCESS;
  };
  table.CreateFramebuffer = [](VkDevice, const VkFramebufferCreateInfo* info,
                               const VkAllocationCallbacks*, VkFramebuffer* framebuffer) {
    EXPECT_EQ(info->width * info->height, 1u);
    *framebuffer = reinterpret_cast<VkFramebuffer>(uintptr_t{1});
    return VK_SUCCESS;
  };
  table.DestroyRenderPass = [](VkDevice, VkRenderPass, const VkAllocationCallbacks*) {};
  table.DestroyFramebuffer = [](VkDevice, VkFramebuffer, const VkAllocationCallbacks*) {};
  table.CmdBeginRenderPass = [](VkCommandBuffer, const VkRenderPassBeginInfo*, VkSubpassContents) {
    written += " small";
  };
  table.CmdEndRenderPass = [](VkCommandBuffer) { written += " end"; };
  table.CmdWriteTimestamp = [](VkCommandBuffer, VkPipelineStageFlagBits stage, VkQueryPool,
                               uint32_t query) {
    written += stage == VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT ? " top" : " bottom";
    written += std::to_string(query);
  };
  return table;
}

// Records two dispatches. The names are those of the commands, in order.
class TwoDispatches : public testing::Test {
 public:
  ~TwoDispatches() override { pools_.destroy_all(); }

 protected:
  explicit TwoDispatches(bool held_by_barriers = true)
      : table_(logging_table()), pools_(nullptr, table_, {.held_by_barriers = held_by_barriers}) {
    written.clear();
  }

  template <typename Between>
  std::string record(Between between) {
    Timestamps timestamps(pools_, false);
    dispatch(timestamps);
    between(timestamps);
    dispatch(timestamps);
    timestamps.finish();
    return written;
  }

  static void barrier(Timestamps& timestamps) {
    written += " barrier";
    timestamps.after_compute_barrier();
  }

 private:
  static void dispatch(Timestamps& timestamps) {
    const auto time = timestamps.begin(nullptr, {});
    ASSERT_TRUE(time);
    written += " dispatch";
    timestamps.end_dispatch(reinterpret_cast<VkCommandBuffer>(uintptr_t{1}), *time);
  }

  const DeviceTable table_;
  TimestampPools pools_;
};

class TwoOtherDispatches : public TwoDispatches {
 protected:
  TwoOtherDispatches() : TwoDispatches(false) {}
};

TEST_F(TwoDispatches, share_a_timestamp_at_the_top_of_the_pipe_behind_their_barrier) {
  EXPECT_EQ(record(barrier), " bottom0 dispatch barrier top1 dispatch bottom2");
}

TEST_F(TwoDispatches, share_the_timestamp_behind_the_first_of_two_barriers) {
  const auto barriers = [](Timestamps& timestamps) {
    barrier(timestamps);
    barrier(timestamps);
  };
  EXPECT_EQ(record(barriers), " bottom0 dispatch barrier top1 barrier dispatch bottom2");
}

TEST_F(TwoDispatches, share_a_timestamp_at_the_bottom_of_the_pipe_without_a_barrier) {
  EXPECT_EQ(record([](Timestamps&) {}), " bottom0 dispatch bottom1 dispatch bottom2");
}

TEST_F(TwoDispatches, end_before_a_copy_between_them_although_a_barrier_follows) {
  const auto copy = [](Timestamps& timestamps) {
    timestamps.separate();
    written += " copy";
    barrier(timestamps);
  };
  EXPECT_EQ(record(copy), " bottom0 dispatch bottom1 copy barrier bottom2 dispatch bottom3");
}

TEST_F(TwoOtherDispatches, end_in_front_of_the_barrier_where_it_holds_no_timestamps_back) {
  EXPECT_EQ(record(barrier), " bottom0 dispatch bottom1 barrier dispatch bottom2");
}

// The ticks of the queries.
std::vector<uint64_t> ticks;

// The times of two dispatches, of which the second begins where the first has ended.
std::vector<std::optional<stream::GpuTime>> times_of(std::vector<uint64_t> of_queries,
                                                     Timestamps::Clock clock) {
  ticks = std::move(of_queries);
  DeviceTable table = logging_table();
  table.GetQueryPoolResults = [](VkDevice, VkQueryPool, uint32_t, uint32_t count, size_t,
                                 void* results, VkDeviceSize, VkQueryResultFlags) {
    for (uint32_t i = 0; i < count; ++i) {
      static_cast<uint64_t*>(results)[2 * i] = ticks[i];
      static_cast<uint64_t*>(results)[2 * i + 1] = 1;
    }
    return VK_SUCCESS;
  };
  TimestampPools pools(nullptr, table, {});
  std::vector<std::optional<stream::GpuTime>> read;
  {
    Timestamps timestamps(pools, false);
    for (int i = 0; i < 2; ++i) timestamps.end(nullptr, {}, *timestamps.begin(nullptr, {}));
    vk::OwnFailure failure;
    read = timestamps.read(clock, failure);
  }
  pools.destroy_all();
  return read;
}

TEST(Times, are_exact_where_the_clock_counts_nanoseconds_since_1970) {
  constexpr uint64_t kNow = 1'796'046'299'764'953'087;
  const auto times = times_of({kNow, kNow + 33, kNow + 34}, {});
  EXPECT_EQ(times[0]->begin_ns, int64_t{kNow});
  EXPECT_EQ(times[0]->time_ns, 33);
  EXPECT_EQ(times[1]->begin_ns, int64_t{kNow + 33});
  EXPECT_EQ(times[1]->time_ns, 1);
}

TEST(Times, of_other_clocks_follow_each_other) {
  const auto times = times_of({1001, 1004, 1010}, {.period_ns = 83.25});
  EXPECT_EQ(times[0]->begin_ns, 83'333);
  EXPECT_EQ(times[0]->begin_ns + times[0]->time_ns, times[1]->begin_ns);
  EXPECT_EQ(times[1]->begin_ns, 83'583);
  EXPECT_EQ(times[1]->time_ns, 499);
}

TEST(Times, may_pass_the_end_of_the_clock) {
  const auto times = times_of({254, 258, 260}, {.period_ns = 2, .valid_bits = 8});
  EXPECT_EQ(times[0]->begin_ns, 508);
  EXPECT_EQ(times[0]->time_ns, 8);
  EXPECT_EQ(times[1]->begin_ns, 4);
}

// What PassSample says of so many passes that take as long: how many it samples, and times of
// those.
std::pair<int, int> turns(PassSample& sample, int passes, int64_t ns) {
  int sampled = 0, timed = 0;
  for (int i = 0; i < passes; ++i) {
    const PassSample::Turn turn = sample.next();
    EXPECT_TRUE(turn.sampled || turn.timed);
    sampled += turn.sampled;
    timed += turn.sampled && turn.timed;
    if (turn.timed) sample.learn(ns);
  }
  return {sampled, timed};
}

TEST(PassSample, one_of_16_short_passes_is_timed_after_the_first_64) {
  PassSample sample(0);
  EXPECT_EQ(turns(sample, 64, 100'000), std::pair(0, 0));
  const auto [sampled, timed] = turns(sample, 1600, 100'000);
  EXPECT_EQ(sampled, 1600);
  EXPECT_GE(timed, 100 + 4 - 1);
  EXPECT_LE(timed, 100 + 4);
}

TEST(PassSample, long_passes_are_all_timed_and_are_no_part_of_the_sample) {
  PassSample sample(0);
  EXPECT_EQ(turns(sample, 1000, 20'000'000).first, 0);
  EXPECT_GT(turns(sample, 1000, 100'000).first, 900) << "they have become short";
  const auto [sampled, timed] = turns(sample, 10'000, 40'000'000);
  EXPECT_LT(sampled, 10 * 16) << "they have become long again";
  EXPECT_GT(timed, 0);
}

TEST(PassSample, passes_whose_times_are_not_known_yet_are_all_timed) {
  PassSample sample(0);
  for (int i = 0; i < 200; ++i) EXPECT_TRUE(sample.next().timed);
}

TEST(PassSamples, differ_by_their_key_and_have_numbers_of_their_own) {
  PassSamples samples;
  PassSample* const one = samples.find(2);
  EXPECT_EQ(samples.find(2), one);
  PassSample* const other = samples.find(2 + 64);
  EXPECT_NE(one->number(), other->number());
  EXPECT_EQ(samples.find(2), one) << "the other one took its place among the recent ones";
  for (uint64_t i = 0; i < 10'000; ++i) samples.find(i);
  EXPECT_EQ(samples.find(20'000), nullptr) << "there are too many";
}

// A pass with a draw, behind which its time ends, and what follows it.
std::string record_pass(TimestampRules rules, uint64_t pixels = 1) {
  written.clear();
  const DeviceTable table = logging_table();
  TimestampPools pools(nullptr, table, rules);
  {
    Timestamps timestamps(pools, false);
    const auto time = timestamps.begin(nullptr, {});
    written += " draw";
    const bool ended = timestamps.end_in_pass(nullptr, {.in_pass = true, .pixels = pixels}, *time);
    written += " end";
    if (!ended) timestamps.end(nullptr, {.pixels = pixels}, *time);
    timestamps.begin(nullptr, {});
  }
  pools.destroy_all();
  return written;
}

TEST(APass, ends_at_the_top_of_the_pipe_behind_draws_that_hold_timestamps_back) {
  EXPECT_EQ(record_pass({.held_by_draws = true}), " bottom0 draw top1 end");
}

TEST(APass, that_is_large_ends_in_a_small_one_behind_it_where_each_tile_has_a_timestamp) {
  constexpr TimestampRules kTiles = {.held_by_draws = true, .in_each_tile = true};
  EXPECT_EQ(record_pass(kTiles, 1 << 20), " bottom0 draw end small top1 end");
  EXPECT_EQ(record_pass(kTiles, (1 << 20) - 1), " bottom0 draw top1 end");
  EXPECT_EQ(record_pass({.held_by_draws = true}, 1 << 20), " bottom0 draw top1 end");
}

TEST(APass, ends_at_the_bottom_of_the_pipe_behind_the_pass_on_other_drivers) {
  EXPECT_EQ(record_pass({.held_by_barriers = true}), " bottom0 draw end bottom1");
}

}  // namespace
}  // namespace tally::capture
