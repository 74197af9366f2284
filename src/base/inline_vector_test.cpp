#include "base/containers.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace tally {
namespace {

using Numbers = InlineVector<int, 2>;

std::vector<int> contents(const Numbers& numbers) { return {numbers.begin(), numbers.end()}; }

Numbers make(int count) {
  Numbers numbers;
  for (int i = 0; i < count; ++i) numbers.push_back(i);
  return numbers;
}

TEST(InlineVector, keeps_few_and_many_elements_in_order) {
  EXPECT_TRUE(make(0).empty());
  EXPECT_EQ(contents(make(2)), (std::vector<int>{0, 1}));
  EXPECT_EQ(contents(make(3)), (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(contents(make(5)), (std::vector<int>{0, 1, 2, 3, 4}));
}

TEST(InlineVector, forgets_the_many_elements_it_had_before_clear) {
  Numbers numbers = make(5);
  numbers.clear();
  EXPECT_TRUE(numbers.empty());
  for (int i = 7; i < 10; ++i) numbers.push_back(i);
  EXPECT_EQ(contents(numbers), (std::vector<int>{7, 8, 9}));
}

TEST(InlineVector, what_it_is_moved_from_is_empty) {
  for (const int count : {1, 5}) {
    Numbers first = make(count), second;
    Numbers& source = first;
    second = std::move(first);
    EXPECT_EQ(contents(second), contents(make(count)));
    EXPECT_TRUE(source.empty());
    source.push_back(7);
    EXPECT_EQ(contents(source), std::vector{7});
    Numbers& other = second;
    const Numbers third = std::move(second);
    EXPECT_EQ(contents(third), contents(make(count)));
    EXPECT_TRUE(other.empty());
  }
}

TEST(InlineVector, a_copy_has_elements_of_its_own) {
  for (const int count : {1, 4}) {
    const Numbers numbers = make(count);
    Numbers copy = numbers;
    copy.data()[0] = 9;
    EXPECT_EQ(numbers.data()[0], 0);
    EXPECT_EQ(copy.size(), numbers.size());
  }
}

}  // namespace
}  // namespace tally
