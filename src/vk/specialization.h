// The specialization constants of a stage, as values.
#pragma once

#include <vulkan/vulkan_core.h>

#include <cstddef>
#include <cstring>

#include "base/specialization.h"

namespace tally::vk {

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
