#include "counters/features/performance/counters.h"

#include <gtest/gtest.h>

namespace tally::counters {
namespace {

TEST(IntelPerformance, a_configuration_is_had_until_it_is_released_by_its_device_alone) {
  IntelConfigurations device, other;
  const auto configuration = device.acquire();
  const auto another = device.acquire();
  EXPECT_NE(configuration, another);
  EXPECT_TRUE(device.has(configuration));
  EXPECT_FALSE(other.has(configuration));
  EXPECT_FALSE(other.release(configuration));
  EXPECT_TRUE(device.release(configuration));
  EXPECT_FALSE(device.release(configuration));
  EXPECT_FALSE(device.has(configuration));
  EXPECT_TRUE(device.has(another));
}

TEST(IntelPerformance, parameters_have_the_types_of_the_chapter) {
  VkPerformanceValueINTEL value{};
  ASSERT_TRUE(intel_parameter(VK_PERFORMANCE_PARAMETER_TYPE_HW_COUNTERS_SUPPORTED_INTEL, value));
  EXPECT_EQ(value.type, VK_PERFORMANCE_VALUE_TYPE_BOOL_INTEL);
  EXPECT_EQ(value.data.valueBool, VK_TRUE);
  ASSERT_TRUE(intel_parameter(VK_PERFORMANCE_PARAMETER_TYPE_STREAM_MARKER_VALID_BITS_INTEL, value));
  EXPECT_EQ(value.type, VK_PERFORMANCE_VALUE_TYPE_UINT32_INTEL);
  EXPECT_EQ(value.data.value32, 32u);
  EXPECT_FALSE(intel_parameter(VK_PERFORMANCE_PARAMETER_TYPE_MAX_ENUM_INTEL, value));
}

}  // namespace
}  // namespace tally::counters
