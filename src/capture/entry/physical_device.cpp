// Hides extensions whose shaders cannot be counted, on devices that the layer would capture.
#include <vector>

#include "capture/device_setup.h"
#include "capture/entry/entry.h"
#include "capture/recording/region_setup.h"
#include "vk/boundary.h"
#include "vk/hiding.h"
#include "vk/layer.h"

namespace tally::capture {
namespace {

VkResult enumerate_extensions(VkPhysicalDevice device, uint32_t* count,
                              VkExtensionProperties* properties) {
  const std::shared_ptr<Instance> instance = Instance::find(device);
  if (!instance) return VK_ERROR_INITIALIZATION_FAILED;
  if (!hides_extensions(*instance, device)) {
    return instance->table().EnumerateDeviceExtensionProperties(device, nullptr, count, properties);
  }
  std::vector<VkExtensionProperties> all = list_extensions(instance->table(), device);
  vk::hide_extensions(all);
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
    instance->table().GetPhysicalDeviceFeatures2(device, features);
    if (hides_extensions(*instance, device)) vk::hide_features(*features);
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
