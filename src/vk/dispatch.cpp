#include "vk/dispatch.h"

#include <vulkan/vulkan_core.h>

#include <algorithm>
#include <array>

namespace tally::vk {
namespace {

// The loader expects layers to write its struct, although the chain is const.
template <typename Info>
Info* loader_info(const void* chain, VkStructureType type, VkLayerFunction function) {
  for (auto* node = static_cast<const VkBaseInStructure*>(chain); node; node = node->pNext) {
    auto* info = reinterpret_cast<const Info*>(node);
    if (node->sType == type && info->function == function) return const_cast<Info*>(info);
  }
  return nullptr;
}

}  // namespace

NextInstance take_next_instance(const VkInstanceCreateInfo& create_info) {
  auto* link = loader_info<VkLayerInstanceCreateInfo>(
      create_info.pNext, VK_STRUCTURE_TYPE_LOADER_INSTANCE_CREATE_INFO, VK_LAYER_LINK_INFO);
  if (!link || !link->u.pLayerInfo) return {};
  const NextInstance next{link->u.pLayerInfo->pfnNextGetInstanceProcAddr,
                          link->u.pLayerInfo->pfnNextGetPhysicalDeviceProcAddr};
  link->u.pLayerInfo = link->u.pLayerInfo->pNext;
  return next;
}

NextDevice take_next_device(const VkDeviceCreateInfo& create_info) {
  auto* link = loader_info<VkLayerDeviceCreateInfo>(
      create_info.pNext, VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO, VK_LAYER_LINK_INFO);
  if (!link || !link->u.pLayerInfo) return {};
  NextDevice next{link->u.pLayerInfo->pfnNextGetInstanceProcAddr,
                  link->u.pLayerInfo->pfnNextGetDeviceProcAddr, nullptr};
  link->u.pLayerInfo = link->u.pLayerInfo->pNext;
  auto* callback = loader_info<VkLayerDeviceCreateInfo>(
      create_info.pNext, VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO, VK_LOADER_DATA_CALLBACK);
  if (callback) next.set_device_loader_data = callback->u.pfnSetDeviceLoaderData;
  return next;
}

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
