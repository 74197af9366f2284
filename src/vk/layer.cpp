#include "vk/layer.h"

#include <fmt/format.h>
#include <tally/vulkan_newer.h>
#include <vulkan/vulkan_core.h>

#include <algorithm>
#include <array>
#include <span>
#include <string>

#include "platform/process.h"
#include "vk/chain.h"

namespace tally::vk {
namespace {

template <typename T>
std::string join(const VkLayerSettingEXT& setting) {
  const auto* values = static_cast<const T*>(setting.pValues);
  std::string text;
  for (uint32_t i = 0; values && i < setting.valueCount; ++i) {
    if (i > 0) text += ',';
    text += fmt::format("{}", values[i]);
  }
  return text;
}

std::string setting_text(const VkLayerSettingEXT& setting) {
  switch (setting.type) {
    case VK_LAYER_SETTING_TYPE_BOOL32_EXT:
    case VK_LAYER_SETTING_TYPE_UINT32_EXT:
      return join<uint32_t>(setting);
    case VK_LAYER_SETTING_TYPE_INT32_EXT:
      return join<int32_t>(setting);
    case VK_LAYER_SETTING_TYPE_INT64_EXT:
      return join<int64_t>(setting);
    case VK_LAYER_SETTING_TYPE_UINT64_EXT:
      return join<uint64_t>(setting);
    case VK_LAYER_SETTING_TYPE_FLOAT32_EXT:
      return join<float>(setting);
    case VK_LAYER_SETTING_TYPE_FLOAT64_EXT:
      return join<double>(setting);
    case VK_LAYER_SETTING_TYPE_STRING_EXT:
      return join<const char*>(setting);
    default:
      return {};
  }
}

}  // namespace

VkResult negotiate(VkNegotiateLayerInterface* interface,
                   PFN_vkGetInstanceProcAddr get_instance_proc_addr,
                   PFN_vkGetDeviceProcAddr get_device_proc_addr,
                   PFN_GetPhysicalDeviceProcAddr get_physical_device_proc_addr) {
  if (!interface || interface->sType != LAYER_NEGOTIATE_INTERFACE_STRUCT)
    return VK_ERROR_INITIALIZATION_FAILED;
  if (interface->loaderLayerInterfaceVersion < 2) return VK_ERROR_INITIALIZATION_FAILED;
  platform::stay_loaded();
  interface->loaderLayerInterfaceVersion = 2;
  interface->pfnGetInstanceProcAddr = get_instance_proc_addr;
  interface->pfnGetDeviceProcAddr = get_device_proc_addr;
  interface->pfnGetPhysicalDeviceProcAddr = get_physical_device_proc_addr;
  return VK_SUCCESS;
}

Settings::Values api_settings(const VkInstanceCreateInfo& create_info,
                              std::string_view layer_name) {
  Settings::Values values;
  for (const void* chain = create_info.pNext; chain;) {
    const auto* info = find_in_chain<VkLayerSettingsCreateInfoEXT>(
        chain, VK_STRUCTURE_TYPE_LAYER_SETTINGS_CREATE_INFO_EXT);
    if (!info) break;
    for (uint32_t i = 0; i < info->settingCount; ++i) {
      const VkLayerSettingEXT& setting = info->pSettings[i];
      if (setting.pLayerName != layer_name) continue;
      values[setting.pSettingName] = setting_text(setting);
    }
    chain = info->pNext;
  }
  return values;
}

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

namespace {

uint32_t hidden_features(VkStructureType type) {
  for (const catalogue::HiddenExtension& extension : catalogue::hidden_extensions()) {
    for (const catalogue::HiddenFeatures& features : extension.features) {
      if (features.count != 0 && features.structure_type == static_cast<uint32_t>(type)) {
        return features.count;
      }
    }
  }
  return 0;
}

}  // namespace

void hide_extensions(std::vector<VkExtensionProperties>& extensions) {
  std::erase_if(extensions, [](const VkExtensionProperties& extension) {
    return catalogue::find_hidden_extension(extension.extensionName) != nullptr;
  });
}

void hide_features(VkPhysicalDeviceFeatures2& features) {
  for (auto* node = static_cast<VkBaseOutStructure*>(features.pNext); node; node = node->pNext) {
    std::ranges::fill(feature_flags(node, hidden_features(node->sType)), VK_FALSE);
  }
}

catalogue::EnabledHidden enabled_hidden_extensions(const VkDeviceCreateInfo& info) {
  catalogue::EnabledHidden enabled;
  for (const char* name : std::span(info.ppEnabledExtensionNames, info.enabledExtensionCount)) {
    if (const auto* hidden = catalogue::find_hidden_extension(name)) enabled.push_back(hidden);
  }
  return enabled;
}

}  // namespace tally::vk
