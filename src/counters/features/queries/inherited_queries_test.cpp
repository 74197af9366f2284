#include "counters/features/queries/active_queries.h"

#include <gtest/gtest.h>

namespace tally::counters {
namespace {

// A primary executes one secondary twice before it resolves its work.
class ExecutedTwice : public testing::Test {
 protected:
  void execute() {
    for (int i = 0; i < 2; ++i) {
      primary_.take_bindings(secondary_, secondary_work_, active_, totals_, work_);
    }
  }

  InheritedQueries primary_, secondary_;
  ActiveQueries active_;
  CommandTotals totals_;
  QueryWork secondary_work_, work_;
};

TEST_F(ExecutedTwice, a_sum_over_both_executions_is_read_once) {
  secondary_work_.samples.push_back({.counts = {.address = 64}, .inherited = true});
  execute();
  EXPECT_EQ(work_.samples.size(), 1u);
  EXPECT_EQ(totals_.sample_errors, 0);
}

TEST_F(ExecutedTwice, a_copy_that_the_second_execution_overwrites_is_an_error) {
  const auto pool = reinterpret_cast<VkQueryPool>(uint64_t{1});
  secondary_work_.samples.push_back({.pool = pool, .counts = {.address = 64}, .inherited = true});
  execute();
  EXPECT_EQ(work_.samples.size(), 1u);
  EXPECT_EQ(totals_.sample_errors, 1);
}

TEST_F(ExecutedTwice, queries_of_the_driver_are_copied_after_each_execution) {
  const auto pool = reinterpret_cast<VkQueryPool>(uint64_t{1});
  secondary_work_.samples.push_back({.pool = pool});
  execute();
  EXPECT_EQ(work_.samples.size(), 2u);
  EXPECT_EQ(totals_.sample_errors, 0);
}

}  // namespace
}  // namespace tally::counters
