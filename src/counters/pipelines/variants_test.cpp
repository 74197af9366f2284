#include "counters/pipelines/variants.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

namespace tally::counters {
namespace {

struct Number {
  int value = 0;
  explicit operator bool() const { return value != 0; }
};

class VariantsOfNumbers : public testing::Test {
 protected:
  int want(Variant which, int value) {
    const Number* number = variants_.want(which, [&](Number* ahead) {
      ++made_;
      if (ahead) {
        ahead->value += value;
      } else if (value != 0) {
        variants_.keep(which, {value});
      }
    });
    return number ? number->value : 0;
  }
  void make_ahead(Variant which, int value) {
    variants_.make_ahead(which, [&] {
      ++made_;
      variants_.keep(which, {value}, true);
    });
  }

  std::atomic<int> made_ = 0;
  Variants<Number> variants_;
};

TEST_F(VariantsOfNumbers, are_made_once_for_each_key) {
  EXPECT_EQ(want(Variant::Blocks, 3), 3);
  EXPECT_EQ(want(Variant::Blocks, 4), 3);
  EXPECT_EQ(want(Variant::Blocks.with_alpha_to_coverage(true), 5), 5);
  EXPECT_EQ(made_, 2);
}

TEST_F(VariantsOfNumbers, that_cannot_be_made_are_not_tried_again) {
  EXPECT_EQ(want(Variant::Both, 0), 0);
  EXPECT_EQ(want(Variant::Both, 7), 0);
  EXPECT_EQ(variants_.find(Variant::Both), nullptr);
  EXPECT_EQ(made_, 1);
}

TEST_F(VariantsOfNumbers, whose_making_throws_are_not_tried_again) {
  const auto fail = [&](Number*) {
    ++made_;
    throw std::runtime_error("no variant");
  };
  EXPECT_EQ(variants_.want(Variant::Blocks, fail), nullptr);
  EXPECT_EQ(variants_.want(Variant::Blocks, fail), nullptr);
  EXPECT_EQ(made_, 1);
}

TEST_F(VariantsOfNumbers, are_not_made_by_asking_for_them) {
  EXPECT_EQ(variants_.find(Variant::Blocks), nullptr);
  want(Variant::Blocks, 3);
  ASSERT_NE(variants_.find(Variant::Blocks), nullptr);
  EXPECT_EQ(variants_.find(Variant::Blocks)->value, 3);
  EXPECT_EQ(variants_.find(Variant::Regions), nullptr);
}

TEST_F(VariantsOfNumbers, made_ahead_are_there_once_they_are_wanted) {
  make_ahead(Variant::Blocks, 10);
  make_ahead(Variant::Blocks, 20);
  EXPECT_EQ(made_, 1);
  EXPECT_EQ(variants_.find(Variant::Blocks), nullptr);
  EXPECT_EQ(want(Variant::Blocks, 3), 13) << "the first that wants it gets what was made";
  EXPECT_EQ(want(Variant::Blocks, 3), 13);
  make_ahead(Variant::Blocks, 30);
  EXPECT_EQ(made_, 2);
}

TEST_F(VariantsOfNumbers, are_not_made_after_the_end) {
  want(Variant::Blocks, 3);
  make_ahead(Variant::Regions, 4);
  int destroyed = 0;
  variants_.close([&](Number& number) { destroyed += std::exchange(number.value, 0); });
  EXPECT_EQ(destroyed, 7);
  made_ = 0;
  EXPECT_EQ(want(Variant::Blocks, 3), 0);
  EXPECT_EQ(want(Variant::Regions, 3), 0);
  EXPECT_EQ(want(Variant::Both, 3), 0);
  make_ahead(Variant::Unnumbered, 3);
  EXPECT_EQ(made_, 0);
}

TEST_F(VariantsOfNumbers, that_threads_want_at_once_are_made_by_one) {
  std::atomic<int> right = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (const Variant one : kFullVariants) {
        make_ahead(one, 2);
        if (want(one, 2) == variants_.find(one)->value) ++right;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 12);
  EXPECT_LE(made_, 6) << "each ahead, and then wanted once";
}

TEST(BestVariant, is_what_was_wanted_or_a_part_of_it) {
  const auto best = [](Variant wanted, const std::vector<Variant>& there) {
    return best_variant(
        wanted, [&](Variant which) { return std::ranges::find(there, which) != there.end(); });
  };
  EXPECT_EQ(best(Variant::Both, {Variant::Blocks, Variant::Both}), Variant::Both);
  EXPECT_EQ(best(Variant::Both, {Variant::Blocks, Variant::Regions}), Variant::Blocks);
  EXPECT_EQ(best(Variant::Invocations, {Variant::Blocks, Variant::Regions}), Variant::Regions);
  EXPECT_EQ(best(Variant::Unnumbered, {Variant::Blocks}), Variant::Blocks);
  EXPECT_EQ(best(Variant::Regions, {Variant::Blocks}), Variant::Plain);
  const Variant covered = Variant::Blocks.with_alpha_to_coverage(true);
  EXPECT_EQ(best(Variant::Both.with_alpha_to_coverage(true), {Variant::Blocks, covered}), covered);
}

}  // namespace
}  // namespace tally::counters
