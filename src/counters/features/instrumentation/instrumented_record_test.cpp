#include "counters/features/instrumentation/values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

namespace tally::counters {
namespace {

using testing::ElementsAre;

// Two blocks, a counter on each; the second follows the first.
Program two_blocks() {
  spirv::CounterPlan plan;
  plan.counter_count = 2;
  plan.block_count = 2;
  plan.block_values = {0, 1};
  plan.terms = {{0, 1}, {1, 1}};
  plan.balances = {{{0, 1}, {1, 2}, 1}};
  Program program;
  program.add(VK_SHADER_STAGE_COMPUTE_BIT, AddressSlot::Main,
              std::make_shared<StageInfo>(StageInfo{std::move(plan), {}}));
  return program;
}

Result<spirv::BlockCounts> read(std::span<const uint64_t> record, uint32_t shards_log2,
                                std::vector<std::string>* findings = nullptr) {
  const Program program = two_blocks();
  RecordReader reader;
  TALLY_TRY(reader.read(program, program.stages[0], record, shards_log2, findings));
  return reader.counts();
}

TEST(InstrumentedRecord, counts_that_contradict_each_other_are_found_if_asked_for) {
  std::array<uint64_t, 4> record = {5, 5};
  std::vector<std::string> findings;
  EXPECT_THAT(read(record, 0, &findings)->executions, ElementsAre(5, 5));
  EXPECT_THAT(findings, ElementsAre());
  record[1] = 4;
  EXPECT_THAT(read(record, 0)->executions, ElementsAre(5, 4));
  EXPECT_TRUE(read(record, 0, &findings).ok());
  EXPECT_THAT(findings, ElementsAre("block 1: 5 flow in and 4 flow out"));
}

TEST(InstrumentedRecord, a_reader_keeps_nothing_of_the_record_before) {
  const Program program = two_blocks();
  RecordReader reader;
  for (const std::array<uint64_t, 4>& record :
       {std::array<uint64_t, 4>{7, 3}, std::array<uint64_t, 4>{0, 2}}) {
    ASSERT_TRUE(reader.read(program, program.stages[0], record, 0).ok());
    EXPECT_THAT(reader.counts().executions, ElementsAre(record[0], record[1]));
  }
}

TEST(InstrumentedRecord, a_record_that_is_too_short_is_an_error) {
  const std::array<uint64_t, 17> record = {};  // a second shard begins at 16
  EXPECT_FALSE(read(record, 1).ok());
}

}  // namespace
}  // namespace tally::counters
