#include "counters/shaders/program.h"

#include <gtest/gtest.h>

#include <optional>

namespace tally::counters {
namespace {

TEST(CounterRanges, ranges_that_exist_together_are_disjoint) {
  CounterRanges ranges;
  const auto first = ranges.take(6);
  const auto second = ranges.take(2);
  const auto third = ranges.take(0);
  EXPECT_EQ(first->first, 0u);
  EXPECT_EQ(second->first, 6u);
  EXPECT_EQ(third->first, 8u);
}

TEST(CounterRanges, the_lowest_free_range_that_is_large_enough_is_taken) {
  CounterRanges ranges;
  auto first = ranges.take(4);
  const auto second = ranges.take(4);
  auto third = ranges.take(8);
  const auto fourth = ranges.take(2);
  first.reset();
  third.reset();
  EXPECT_EQ(ranges.take(6)->first, 8u);  // and released at once
  const auto small = ranges.take(2);
  EXPECT_EQ(small->first, 0u);
  EXPECT_EQ(ranges.take(2)->first, 2u);
  EXPECT_EQ(ranges.take(16)->first, 18u);
}

TEST(CounterRanges, a_range_may_outlive_the_object) {
  std::optional<CounterRanges> ranges(std::in_place);
  const auto range = ranges->take(4);
  ranges.reset();
  EXPECT_EQ(range->size, 4u);
}

}  // namespace
}  // namespace tally::counters
