#include "vk/layer.h"

#include <fmt/format.h>
#include <tally/vulkan_newer.h>

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

}  // namespace tally::vk
