// How Vulkan describes pipelines: bind points, as indices into the state that a layer has of each,
// their stages, and specialization constants.
#pragma once

#include <vulkan/vulkan_core.h>

#include <array>
#include <cstddef>
#include <cstring>

#include "base/specialization.h"

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

// The specialization constants of a stage, as values.

// The argument of vkCreate*Pipelines or vkCreateShadersEXT; `info` may be null. Entries that lie
// outside of the data, or have the size of no scalar, are left out.
inline Specialization specialization_of(const VkSpecializationInfo* info) {
  Specialization constants;
  if (info == nullptr || info->pMapEntries == nullptr || info->pData == nullptr) return constants;
  for (uint32_t i = 0; i < info->mapEntryCount; ++i) {
    const VkSpecializationMapEntry& entry = info->pMapEntries[i];
    if (!SpecializationConstant::is_size(entry.size) || entry.offset > info->dataSize ||
        entry.size > info->dataSize - entry.offset) {
      continue;
    }
    SpecializationConstant& constant = constants.emplace_back();
    constant.id = entry.constantID;
    constant.size = static_cast<uint32_t>(entry.size);
    std::memcpy(&constant.bits, static_cast<const std::byte*>(info->pData) + entry.offset,
                entry.size);
  }
  make_valid(constants);
  return constants;
}

}  // namespace tally::vk
