#include "counters/features/performance/clock.h"

#include <gtest/gtest.h>

namespace tally::counters {
namespace {

TEST(DeviceClock, a_scale_is_a_whole_number_and_a_fraction_of_2_to_the_32) {
  const ClockScale faster = clock_scale(1000, 2500, 10);
  EXPECT_EQ(faster.whole, 2u);
  EXPECT_EQ(faster.fraction, 1u << 31);
  const ClockScale slower = clock_scale(4000, 1000, 10);
  EXPECT_EQ(slower.whole, 0u);
  EXPECT_EQ(slower.fraction, 1u << 30);
}

TEST(DeviceClock, readings_that_say_nothing_leave_ticks_as_they_are) {
  for (const ClockScale scale : {clock_scale(0, 1000, 1), clock_scale(1000, 0, 1),
                                 clock_scale(1000, -5, 1), clock_scale(1, 1e30, 1)}) {
    EXPECT_EQ(scale.whole, 1u);
    EXPECT_EQ(scale.fraction, 0u);
  }
}

TEST(DeviceClock, a_scale_that_cannot_be_told_from_one_is_one) {
  for (const ClockScale scale : {clock_scale(1000, 1004, 0), clock_scale(1000, 900, 100)}) {
    EXPECT_EQ(scale.whole, 1u);
    EXPECT_EQ(scale.fraction, 0u);
  }
  EXPECT_EQ(clock_scale(1000, 900, 50).whole, 0u);
}

TEST(DeviceClock, has_bits_that_the_specification_allows) {
  for (const VkDriverId driver :
       {VK_DRIVER_ID_MESA_LLVMPIPE, VK_DRIVER_ID_GOOGLE_SWIFTSHADER, VkDriverId{}}) {
    PhysicalDevice gpu;
    gpu.driver_id = driver;
    EXPECT_GE(timestamp_bits(gpu), 36u);
    EXPECT_LE(timestamp_bits(gpu), 64u);
  }
}

TEST(DeviceClock, has_the_drivers_unit_or_nanoseconds) {
  PhysicalDevice gpu;
  EXPECT_EQ(timestamp_period(gpu), 1.0f);
  gpu.properties.limits.timestampPeriod = 10.0f;
  EXPECT_EQ(timestamp_period(gpu), 10.0f);
}

}  // namespace
}  // namespace tally::counters
