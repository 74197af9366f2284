// The bind points of pipelines, as indices into what a layer keeps for each.
#pragma once

#include <vulkan/vulkan_core.h>

#include <array>
#include <cstddef>

namespace tally::vk {

inline constexpr std::array kBindPoints = {VK_PIPELINE_BIND_POINT_GRAPHICS,
                                           VK_PIPELINE_BIND_POINT_COMPUTE,
                                           VK_PIPELINE_BIND_POINT_RAY_TRACING_KHR};

// kBindPoints.size() for one that is none of them.
constexpr size_t bind_point_index(VkPipelineBindPoint point) {
  switch (point) {
    case VK_PIPELINE_BIND_POINT_GRAPHICS:
      return 0;
    case VK_PIPELINE_BIND_POINT_COMPUTE:
      return 1;
    case VK_PIPELINE_BIND_POINT_RAY_TRACING_KHR:
      return 2;
    default:
      return kBindPoints.size();
  }
}

}  // namespace tally::vk
