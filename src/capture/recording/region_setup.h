// Checks the support of a device for VK_ARM_performance_counters_by_region before it is created.
#pragma once

#include <span>

#include <vector>

#include "capture/recording/region_capture.h"
#include "capture/tables.h"

namespace tally::capture {

// The extensions of the next layer. Empty where they cannot be enumerated.
std::vector<VkExtensionProperties> list_extensions(const InstanceTable& table,
                                                   VkPhysicalDevice device);
bool offers_extension(const InstanceTable& table, VkPhysicalDevice device, const char* name);
bool enables_extension(const VkDeviceCreateInfo& info, const char* name);

// Sets `enabled`, or `reason` if it cannot be enabled.
RegionSetup inspect_regions(const InstanceTable& table, VkPhysicalDevice device,
                            const VkDeviceCreateInfo& info,
                            std::span<const VkQueueFamilyProperties> families);

}  // namespace tally::capture
