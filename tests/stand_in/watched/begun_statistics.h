// How a test learns what VK_LAYER_TALLY_test_watched_driver has seen.
#pragma once

#include <vulkan/vulkan_core.h>

#include <cstdint>

namespace tally::test {

// The number of pipeline statistics queries that were begun on the device. vkGetDeviceProcAddr
// gives the function by its name.
using BegunStatistics = uint64_t(VKAPI_PTR*)(VkDevice device);
inline constexpr const char* kBegunStatistics = "vkGetBegunStatisticsTALLY";

}  // namespace tally::test
