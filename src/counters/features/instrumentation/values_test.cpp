#include "counters/features/instrumentation/values.h"

#include <gtest/gtest.h>
#include <tally/vulkan_arm.h>

#include <algorithm>
#include <random>

namespace tally::counters {
namespace {

using Words = std::vector<uint64_t>;

// A vertex and a fragment stage of three blocks each: the last one follows from the counters.
Program two_stages() {
  spirv::CounterPlan plan;
  plan.counter_count = 2;
  plan.block_count = 3;
  plan.block_values = {0, 1, 2};
  plan.terms = {{0, 1}, {1, -1}};
  plan.derived = {{0, 2}};
  const auto info =
      std::make_shared<StageInfo>(StageInfo{plan, std::vector<spirv::InstructionMix>(3)});
  Program program;
  program.add(VK_SHADER_STAGE_VERTEX_BIT, AddressSlot::Main, info);
  program.add(VK_SHADER_STAGE_FRAGMENT_BIT, AddressSlot::Fragment, info);
  return program;
}

class Values : public testing::Test {
 protected:
  // Many of the records have what the one before has.
  Values() {
    std::mt19937 random(1);
    for (uint32_t i = 0; i < kRecords; ++i) {
      const bool same = i != 0 && random() % 2 == 0;
      for (size_t word = 0; word < kWordsOfRecord; ++word) {
        page_.push_back(same ? page_[page_.size() - kWordsOfRecord] : random() % 2);
      }
    }
  }

  // The blocks that fit into `capacity`. They do not depend on whether the page is cached.
  Words write(std::span<const RecordRun> runs, uint32_t capacity, VkResult expected) const {
    Words blocks = write(runs, capacity, expected, true);
    EXPECT_EQ(write(runs, capacity, expected, false), blocks);
    return blocks;
  }
  Words write(std::span<const RecordRun> runs, uint32_t capacity, VkResult expected,
              bool cached) const {
    Words blocks(size_t{capacity} * kBlockWords);
    const PageWords page{page_, cached};
    const VkResult result = write_blocks(
        runs, {&page, 1}, {.metrics = metrics_, .count = &capacity, .blocks = blocks.data()});
    EXPECT_EQ(result, expected);
    blocks.resize(size_t{capacity} * kBlockWords);
    return blocks;
  }
  RecordRun run_of(uint32_t first, uint32_t count) const {
    return {{.result_index = 7 + first, .offset = first * kDistance, .program = &program_},
            kDistance,
            count};
  }

  static constexpr uint32_t kRecords = 50;
  static constexpr uint32_t kBlocks = 6;       // of a record
  static constexpr size_t kBlockWords = 3;     // header and executions
  static constexpr size_t kWordsOfRecord = 8;  // of two slots, each kRecordAlignment
  static constexpr uint32_t kDistance = kWordsOfRecord * sizeof(uint64_t) / probe::kRecordAlignment;

  const Program program_ = two_stages();
  const std::vector<Metric> metrics_{{.kind = Metric::Kind::Executions}};
  Words page_;
};

TEST_F(Values, a_run_has_the_blocks_of_its_records_one_by_one) {
  std::vector<RecordRun> singles;
  for (uint32_t i = 0; i < kRecords; ++i) singles.push_back(run_of(i, 1));
  const std::vector<RecordRun> run{run_of(0, kRecords)};
  EXPECT_EQ(count_blocks(run), kRecords * kBlocks);
  EXPECT_EQ(count_blocks(singles), kRecords * kBlocks);
  const Words expected = write(singles, kRecords * kBlocks, VK_SUCCESS);
  EXPECT_EQ(write(run, kRecords * kBlocks, VK_SUCCESS), expected);
}

TEST_F(Values, of_a_run_as_many_blocks_are_written_as_fit) {
  const std::vector<RecordRun> run{run_of(0, kRecords)};
  const Words all = write(run, kRecords * kBlocks, VK_SUCCESS);
  for (uint32_t capacity = 0; capacity < kRecords * kBlocks; ++capacity) {
    const Words part = write(run, capacity, VK_INCOMPLETE);
    EXPECT_EQ(part.size(), capacity * kBlockWords);
    EXPECT_TRUE(std::ranges::equal(part, std::span(all).first(part.size()))) << capacity;
  }
}

TEST_F(Values, a_long_run_and_another_in_the_same_page_have_the_blocks_of_their_records) {
  constexpr uint32_t kMany = 2500;  // more words than are copied at a time
  while (page_.size() < kMany * kWordsOfRecord) page_.push_back(page_.size() % 1021);
  const std::vector<RecordRun> runs{run_of(0, kMany), run_of(3, 2), run_of(kMany - 1, 1)};
  std::vector<RecordRun> singles;
  for (const RecordRun& run : runs) {
    for (uint32_t i = 0; i < run.count; ++i) {
      singles.push_back({.first = run.at(i), .distance = 0, .count = 1});
    }
  }
  const auto blocks = static_cast<uint32_t>(singles.size()) * kBlocks;
  EXPECT_EQ(write(runs, blocks, VK_SUCCESS), write(singles, blocks, VK_SUCCESS));
}

TEST_F(Values, records_beyond_their_page_have_no_blocks) {
  page_.resize(3 * kWordsOfRecord);
  const std::vector<RecordRun> run{run_of(0, kRecords)};
  EXPECT_EQ(write(run, kRecords * kBlocks, VK_SUCCESS).size(), 3 * kBlocks * kBlockWords);
}

}  // namespace
}  // namespace tally::counters
