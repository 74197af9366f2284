// The feature structs that the layer fills in place of the driver. vkCreateDevice accepts the same
// features. sType and pNext are not set.
#pragma once

#include <vulkan/vulkan_core.h>

#include <tally/vulkan_arm.h>
#include <tally/vulkan_newest.h>

#include "counters/base/physical_device.h"

namespace tally::counters {

template <typename Features>
Features features_of(const PhysicalDevice& gpu);

template <>
inline VkPhysicalDeviceShaderInstrumentationFeaturesARM features_of(const PhysicalDevice& gpu) {
  return {.shaderInstrumentation = gpu.offers_emulation()};
}

template <>
inline VkPhysicalDevicePerformanceCountersByRegionFeaturesARM features_of(
    const PhysicalDevice& gpu) {
  return {.performanceCountersByRegion = gpu.offers_regions()};
}

template <>
inline VkPhysicalDevicePrimitivesGeneratedQueryFeaturesEXT features_of(const PhysicalDevice& gpu) {
  const bool offered = gpu.offers_primitives_generated();
  return {.primitivesGeneratedQuery = offered,
          .primitivesGeneratedQueryWithRasterizerDiscard = offered,
          .primitivesGeneratedQueryWithNonZeroStreams =
              offered && gpu.has_extension(VK_EXT_TRANSFORM_FEEDBACK_EXTENSION_NAME)};
}

template <>
inline VkPhysicalDeviceElapsedTimerQueryFeaturesQCOM features_of(const PhysicalDevice& gpu) {
  return {.elapsedTimerQuery = gpu.offers_elapsed_timer()};
}

template <>
inline VkPhysicalDevicePerformanceQueryFeaturesKHR features_of(const PhysicalDevice& gpu) {
  const bool offered = gpu.offers_performance_queries();
  return {.performanceCounterQueryPools = offered, .performanceCounterMultipleQueryPools = offered};
}

}  // namespace tally::counters
