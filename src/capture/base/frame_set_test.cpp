#include "capture/base/frames.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

namespace tally::capture {
namespace {

TEST(FrameSet, holds_what_a_set_of_numbers_holds) {
  std::mt19937 random(7);
  for (int round = 0; round < 100; ++round) {
    FrameSet frames;
    std::set<int64_t> numbers;
    for (int i = 0; i < 100; ++i) {
      const auto number = static_cast<int64_t>(random() % 60);
      EXPECT_EQ(frames.insert(number), numbers.insert(number).second) << number;
    }
  }
}

TEST(FrameSet, of_a_long_run_takes_little_memory) {
  FrameSet frames;
  size_t most = 0;
  for (int64_t frame = 0; frame < 100'000; frame += 2) {  // two queues, one ahead of the other
    EXPECT_TRUE(frames.insert(frame + 1));
    most = std::max(most, frames.ranges());
    EXPECT_TRUE(frames.insert(frame));
    EXPECT_FALSE(frames.insert(frame + 1));
  }
  EXPECT_LE(most, 2u);
  EXPECT_EQ(frames.ranges(), 1u);
}

}  // namespace
}  // namespace tally::capture
