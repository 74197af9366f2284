// Hides the extensions of catalogue/hidden_extensions.h from an application, as if the driver
// lacked them.
#pragma once

#include <vulkan/vulkan_core.h>

#include <vector>

#include "catalogue/hidden_extensions.h"

namespace tally::vk {

// Removes them from what vkEnumerateDeviceExtensionProperties lists.
void hide_extensions(std::vector<VkExtensionProperties>& extensions);
// Sets their features to VK_FALSE.
void hide_features(VkPhysicalDeviceFeatures2& features);
// Those that the application enables.
catalogue::EnabledHidden enabled_hidden_extensions(const VkDeviceCreateInfo& info);

}  // namespace tally::vk
