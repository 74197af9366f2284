#include "counters/source/instrumented_record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

namespace tally::counters {
namespace {

using testing::ElementsAre;

// Two blocks, a counter on each; the second follows the first.
StageProgram two_blocks() {
  spirv::CounterPlan plan;
  plan.counters_per_shard = 16;
  plan.counter_count = 2;
  plan.block_count = 2;
  plan.block_values = {0, 1};
  plan.terms = {{0, false}, {1, false}};
  plan.balances = {{{0, 1}, {1, 2}, 1}};
  StageProgram stage;
  stage.counters = {0, plan.counters_per_shard};
  stage.info = std::make_shared<StageInfo>(StageInfo{std::move(plan), {}});
  return stage;
}

TEST(InstrumentedRecord, counts_that_contradict_each_other_are_found_if_asked_for) {
  std::array<uint64_t, 16> record = {5, 5};
  std::vector<std::string> findings;
  EXPECT_THAT(read_stage(two_blocks(), record, 0, &findings)->executions, ElementsAre(5, 5));
  EXPECT_THAT(findings, ElementsAre());
  record[1] = 4;
  EXPECT_THAT(read_stage(two_blocks(), record, 0)->executions, ElementsAre(5, 4));
  EXPECT_TRUE(read_stage(two_blocks(), record, 0, &findings).ok());
  EXPECT_THAT(findings, ElementsAre("block 1: 5 flow in and 4 flow out"));
}

TEST(InstrumentedRecord, a_record_that_is_too_short_is_an_error) {
  const std::array<uint64_t, 16> record = {};
  EXPECT_FALSE(read_stage(two_blocks(), record, 1).ok());
}

}  // namespace
}  // namespace tally::counters
