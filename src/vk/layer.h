// Functions that every layer needs to answer the loader.
#pragma once

#include <vulkan/vk_layer.h>

#include <span>
#include <string_view>

#include "base/settings.h"

namespace tally::vk {

// Implements vkNegotiateLoaderLayerInterfaceVersion for interface version 2.
VkResult negotiate(VkNegotiateLayerInterface* interface,
                   PFN_vkGetInstanceProcAddr get_instance_proc_addr,
                   PFN_vkGetDeviceProcAddr get_device_proc_addr,
                   PFN_GetPhysicalDeviceProcAddr get_physical_device_proc_addr);

// The values that the application sets for this layer through VK_EXT_layer_settings, as text by
// key. The elements of an array are joined with commas.
Settings::Values api_settings(const VkInstanceCreateInfo& create_info, std::string_view layer_name);

// Implements Vulkan's two-call idiom: stores only the count if `target` is null, and returns
// VK_INCOMPLETE if it is too small.
template <typename T>
VkResult write_array(std::span<const T> source, uint32_t* count, T* target) {
  if (!target) {
    *count = static_cast<uint32_t>(source.size());
    return VK_SUCCESS;
  }
  const uint32_t written = *count < source.size() ? *count : static_cast<uint32_t>(source.size());
  for (uint32_t i = 0; i < written; ++i) target[i] = source[i];
  *count = written;
  return written < source.size() ? VK_INCOMPLETE : VK_SUCCESS;
}

}  // namespace tally::vk
