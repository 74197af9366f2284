#include "spirv/plan/counter_plan.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <random>

#include "spirv/analysis/sites.h"
#include "spirv/testing/block_count.h"

namespace tally::spirv {
namespace {

// Blocks 0 -> {1, 2} -> 3: counters on 0 and 2, block 1 = 0 - 2, block 3 = 0, block 4 never runs.
CounterPlan diamond() {
  CounterPlan plan;
  plan.counter_count = 2;
  plan.block_count = 5;
  plan.terms = {{0, 1}, {1, -1}, {2, 1}, {1, 1}, {0, 1}};
  plan.derived = {{0, 2}, {2, 4}};
  plan.block_values = {0, 2, 1, 3, CounterPlan::kZero};
  plan.balances = {{{4, 5}, {2, 4}, 3}};
  return plan;
}

TEST(CounterPlan, derived_blocks_follow_in_order) {
  const std::array<uint64_t, 3> counters{10, 3, 99};
  EXPECT_EQ(derive(diamond(), counters).executions, (std::vector<uint64_t>{10, 7, 3, 10, 0}));
  EXPECT_TRUE(derive(diamond(), counters).subgroups.empty());
}

TEST(CounterPlan, counts_beyond_32_bits_are_derived_exactly) {
  const std::array<uint64_t, 2> counters{(uint64_t{1} << 62) + 5, uint64_t{1} << 62};
  EXPECT_EQ(derive(diamond(), counters).executions[1], 5u);
}

TEST(CounterPlan, missing_counters_read_as_zero) {
  EXPECT_EQ(derive(diamond(), {}).executions, std::vector<uint64_t>(5));
}

// Value 2 is counter 0 minus counter 1, value 3 the sum of value 2 and counter 1.
TEST(CounterPlan, weighted_sums_of_values_are_factors_of_the_counters) {
  EXPECT_EQ(diamond().value_count(), 4u);
  EXPECT_EQ(diamond().factors({0, 0, 1, 0}), (std::vector<uint32_t>{1, ~0u}));
  EXPECT_EQ(diamond().factors({0, 0, 0, 1}), (std::vector<uint32_t>{1, 0}));
  EXPECT_EQ(diamond().factors({2, 5, 3, 10}), (std::vector<uint32_t>{15, 2}));
  CounterPlan plan = diamond();
  plan.terms[2].value = CounterPlan::kZero;
  EXPECT_EQ(plan.factors({0, 0, 0, 1}), (std::vector<uint32_t>{0, 1}));
}

TEST(CounterPlan, a_value_may_be_a_multiple_of_another) {
  CounterPlan plan = diamond();
  plan.terms[0].factor = 9;
  EXPECT_EQ(derive(plan, std::array<uint64_t, 2>{10, 3}).executions,
            (std::vector<uint64_t>{10, 87, 3, 90, 0}));
  EXPECT_EQ(plan.factors({0, 0, 1, 2}), (std::vector<uint32_t>{27, ~0u}));
}

TEST(CounterPlan, broken_conservation_and_negative_counts_are_reported) {
  CounterPlan plan = diamond();
  EXPECT_TRUE(plan.verify(std::array<uint64_t, 2>{10, 3}).empty());
  const auto findings = plan.verify(std::array<uint64_t, 2>{3, 10});
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0], "block 1: its count of -7 is negative");
  plan.balances[0].inflow = {1, 2};  // minus counter 1
  EXPECT_EQ(plan.verify(std::array<uint64_t, 2>{10, 3})[0],
            "block 3: 18446744073709551613 flow in and 10 flow out");
}

TEST(CounterPlan, gives_no_difference_of_counters_below_zero) {
  CounterPlan plan;
  plan.site_counters = {
      {.site = 0, .slot = SiteSlot::ExtraPasses, .counter = 0},
      {.site = 0, .slot = SiteSlot::ExtraPasses, .counter = 1, .subtracts = true}};
  const auto extra_passes = [&](std::vector<uint64_t> counters) {
    return derive(plan, counters).sites.at(0).value;
  };
  EXPECT_EQ(extra_passes({7, 5}), 2U);
  EXPECT_EQ(extra_passes({5, 7}), 0U);
}

// A sketch of so many lines, whose hashes are random.
std::vector<uint64_t> random_sketch(uint32_t lines, std::mt19937& random) {
  std::vector<uint64_t> counters(LineSketch::kCounters);
  for (uint32_t i = 0; i < lines; ++i) {
    const uint32_t hash = random(), row = hash % LineSketch::kRows;
    uint32_t bit = 0;
    while (bit < LineSketch::kBits && (hash >> (LineSketch::kRowsLog2 + bit) & 1) == 0) ++bit;
    counters[row / 2] |= uint64_t{1} << (row % 2 * 32 + bit);
  }
  return counters;
}

TEST(LineSketch, estimates_have_the_stated_standard_error) {
  constexpr uint32_t kSketches = 400;
  std::mt19937 random(1);
  for (const uint32_t lines : {500u, 5000u, 50'000u}) {
    double squares = 0, sum = 0;
    for (uint32_t i = 0; i < kSketches; ++i) {
      const auto estimate = static_cast<double>(LineSketch::estimate(random_sketch(lines, random)));
      const double error = estimate / lines - 1;
      squares += error * error, sum += error;
    }
    // With as many sketches their mean square is within 15 % and their mean within 0.5 %.
    EXPECT_LT(std::sqrt(squares / kSketches), 1.15 * kTouchedLinesError) << lines;
    if (lines == 50'000) {  // of fewer lines, their known number takes much of the variance
      EXPECT_GT(std::sqrt(squares / kSketches), 0.85 * kTouchedLinesError);
    }
    EXPECT_LT(std::abs(sum / kSketches), 0.005) << lines;
  }
}

TEST(LineSketch, lines_that_set_different_bits_are_counted_exactly) {
  std::vector<uint64_t> counters(LineSketch::kCounters);
  for (uint32_t lines = 0; lines < 16; ++lines) {
    EXPECT_EQ(LineSketch::estimate(counters), lines);
    counters[lines * 7] |= uint64_t{1} << (lines % 2 * 32);
  }
}

TEST(LineSketch, any_words_have_an_estimate) {
  EXPECT_EQ(LineSketch::estimate({}), 0u);
  const std::vector<uint64_t> full(LineSketch::kCounters, ~uint64_t{0});
  EXPECT_EQ(LineSketch::estimate(full), UINT32_MAX);
  // Bits above those of a row are none.
  const std::vector<uint64_t> above(LineSketch::kCounters, uint64_t{0xff000000} << 32 | 0xff000000);
  EXPECT_EQ(LineSketch::estimate(above), 0u);
}

}  // namespace
}  // namespace tally::spirv
