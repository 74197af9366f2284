// Pipeline bind points, as indices into a layer's per-bind-point state.
#pragma once

#include <vulkan/vulkan_core.h>

#include <array>
#include <cstddef>

namespace tally::vk {

inline constexpr std::array kBindPoints = {VK_PIPELINE_BIND_POINT_GRAPHICS,
                                           VK_PIPELINE_BIND_POINT_COMPUTE,
                                           VK_PIPELINE_BIND_POINT_RAY_TRACING_KHR};

// Returns kBindPoints.size() for any other bind point.
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
