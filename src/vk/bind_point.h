// Pipeline bind points, as indices into a layer's per-bind-point state, and the stages of one.
#pragma once

#include <vulkan/vulkan_core.h>

#include <array>
#include <cstddef>

namespace tally::vk {

inline constexpr std::array kBindPoints = {VK_PIPELINE_BIND_POINT_GRAPHICS,
                                           VK_PIPELINE_BIND_POINT_COMPUTE,
                                           VK_PIPELINE_BIND_POINT_RAY_TRACING_KHR};

inline constexpr VkShaderStageFlags kRayTracingStages =
    VK_SHADER_STAGE_RAYGEN_BIT_KHR | VK_SHADER_STAGE_ANY_HIT_BIT_KHR |
    VK_SHADER_STAGE_CLOSEST_HIT_BIT_KHR | VK_SHADER_STAGE_MISS_BIT_KHR |
    VK_SHADER_STAGE_INTERSECTION_BIT_KHR | VK_SHADER_STAGE_CALLABLE_BIT_KHR;

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
