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
// The first that the application enables; null if there is none.
const catalogue::HiddenExtension* find_hidden_extension(const VkDeviceCreateInfo& info);

}  // namespace tally::vk
