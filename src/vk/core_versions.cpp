#include "vk/core_versions.h"

#include <vulkan/vulkan_core.h>

#include <algorithm>
#include <array>

namespace tally::vk {
namespace {

constexpr std::array<std::string_view, 16> k1_1{
    "vkBindBufferMemory2",
    "vkBindImageMemory2",
    "vkCmdDispatchBase",
    "vkCmdSetDeviceMask",
    "vkCreateDescriptorUpdateTemplate",
    "vkCreateSamplerYcbcrConversion",
    "vkDestroyDescriptorUpdateTemplate",
    "vkDestroySamplerYcbcrConversion",
    "vkGetBufferMemoryRequirements2",
    "vkGetDescriptorSetLayoutSupport",
    "vkGetDeviceGroupPeerMemoryFeatures",
    "vkGetDeviceQueue2",
    "vkGetImageMemoryRequirements2",
    "vkGetImageSparseMemoryRequirements2",
    "vkTrimCommandPool",
    "vkUpdateDescriptorSetWithTemplate",
};
constexpr std::array<std::string_view, 13> k1_2{
    "vkCmdBeginRenderPass2",
    "vkCmdDrawIndexedIndirectCount",
    "vkCmdDrawIndirectCount",
    "vkCmdEndRenderPass2",
    "vkCmdNextSubpass2",
    "vkCreateRenderPass2",
    "vkGetBufferDeviceAddress",
    "vkGetBufferOpaqueCaptureAddress",
    "vkGetDeviceMemoryOpaqueCaptureAddress",
    "vkGetSemaphoreCounterValue",
    "vkResetQueryPool",
    "vkSignalSemaphore",
    "vkWaitSemaphores",
};
static_assert(std::ranges::is_sorted(k1_1) && std::ranges::is_sorted(k1_2));

}  // namespace

bool is_newer_than(std::string_view name, uint32_t application_version) {
  if (application_version < VK_API_VERSION_1_1 && std::ranges::binary_search(k1_1, name)) {
    return true;
  }
  return application_version < VK_API_VERSION_1_2 && std::ranges::binary_search(k1_2, name);
}

}  // namespace tally::vk
