// Hides extensions whose shaders cannot be counted, and those that the layer uses itself, and adds
// VK_EXT_frame_boundary, on devices that the layer would capture.
#include <tally/vulkan_arm.h>
#include <tally/vulkan_newer.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include "capture/device_setup.h"
#include "capture/entry/entry.h"
#include "capture/recording/region_setup.h"
#include "vk/boundary.h"
#include "vk/chain.h"
#include "vk/hiding.h"
#include "vk/layer.h"

namespace tally::capture {
namespace {

// A command buffer has one user of these: an application that enabled all it finds could not be
// captured.
bool is_used(std::string_view extension) {
  return extension == VK_ARM_SHADER_INSTRUMENTATION_EXTENSION_NAME ||
         extension == VK_ARM_PERFORMANCE_COUNTERS_BY_REGION_EXTENSION_NAME;
}

void hide_used(VkPhysicalDeviceFeatures2& features) {
  if (auto* blocks = vk::find_in_out_chain<VkPhysicalDeviceShaderInstrumentationFeaturesARM>(
          features.pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INSTRUMENTATION_FEATURES_ARM)) {
    blocks->shaderInstrumentation = VK_FALSE;
  }
  if (auto* regions = vk::find_in_out_chain<VkPhysicalDevicePerformanceCountersByRegionFeaturesARM>(
          features.pNext,
          VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PERFORMANCE_COUNTERS_BY_REGION_FEATURES_ARM)) {
    regions->performanceCountersByRegion = VK_FALSE;
  }
}

VkResult enumerate_extensions(VkPhysicalDevice device, uint32_t* count,
                              VkExtensionProperties* properties) {
  const std::shared_ptr<Instance> instance = Instance::find(device);
  if (!instance) return VK_ERROR_INITIALIZATION_FAILED;
  const bool hides = hides_extensions(*instance, device);
  const bool adds = adds_boundaries(*instance, device);
  if (!hides && !adds) {
    return instance->table().EnumerateDeviceExtensionProperties(device, nullptr, count, properties);
  }
  std::vector<VkExtensionProperties> all = list_extensions(instance->table(), device);
  if (hides) {
    vk::hide_extensions(all);
    std::erase_if(all, [](const auto& extension) { return is_used(extension.extensionName); });
  }
  if (adds) {
    all.push_back({VK_EXT_FRAME_BOUNDARY_EXTENSION_NAME, VK_EXT_FRAME_BOUNDARY_SPEC_VERSION});
  }
  return vk::write_array<VkExtensionProperties>(all, count, properties);
}

VKAPI_ATTR VkResult VKAPI_CALL
EnumerateDeviceExtensionProperties(VkPhysicalDevice device, const char* layer, uint32_t* count,
                                   VkExtensionProperties* properties) {
  return vk::guarded([&] {
    if (!layer) return enumerate_extensions(device, count, properties);
    const std::shared_ptr<Instance> instance = Instance::find(device);
    return instance ? instance->table().EnumerateDeviceExtensionProperties(device, layer, count,
                                                                           properties)
                    : VK_ERROR_INITIALIZATION_FAILED;
  });
}

VKAPI_ATTR void VKAPI_CALL GetPhysicalDeviceFeatures2(VkPhysicalDevice device,
                                                      VkPhysicalDeviceFeatures2* features) {
  vk::guarded_void([&] {
    const std::shared_ptr<Instance> instance = Instance::find(device);
    if (!instance || !instance->table().GetPhysicalDeviceFeatures2) return;
    auto* boundary = vk::find_in_out_chain<VkPhysicalDeviceFrameBoundaryFeaturesEXT>(
        features->pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FRAME_BOUNDARY_FEATURES_EXT);
    if (boundary && adds_boundaries(*instance, device)) {
      const vk::UnlinkedStructs own(
          features, {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FRAME_BOUNDARY_FEATURES_EXT});
      instance->table().GetPhysicalDeviceFeatures2(device, features);
      boundary->frameBoundary = VK_TRUE;
    } else {
      instance->table().GetPhysicalDeviceFeatures2(device, features);
    }
    if (!hides_extensions(*instance, device)) return;
    vk::hide_features(*features);
    hide_used(*features);
  });
}

}  // namespace

const vk::HookTable& physical_device_hooks() {
  // Leaked on purpose: applications call Vulkan from static destructors.
  static const auto* const table = new vk::HookTable({
      vk::hook("vkEnumerateDeviceExtensionProperties", EnumerateDeviceExtensionProperties),
      vk::hook("vkGetPhysicalDeviceFeatures2", GetPhysicalDeviceFeatures2),
      vk::hook("vkGetPhysicalDeviceFeatures2KHR", GetPhysicalDeviceFeatures2),
  });
  return *table;
}

}  // namespace tally::capture
