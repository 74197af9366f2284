// A layer with a common idiom: it looks up functions of the next layer without an instance.
#include "vk/layer.h"

#include <string_view>

namespace {

using tally::vk::NextDevice;
using tally::vk::NextInstance;

NextInstance g_instance;
NextDevice g_device;

template <typename Function>
Function next_function(PFN_vkGetInstanceProcAddr get, const char* name) {
  return reinterpret_cast<Function>(get(VK_NULL_HANDLE, name));
}

VKAPI_ATTR VkResult VKAPI_CALL create_instance(const VkInstanceCreateInfo* info,
                                               const VkAllocationCallbacks* allocator,
                                               VkInstance* instance) {
  g_instance = tally::vk::take_next_instance(*info);
  const auto create =
      next_function<PFN_vkCreateInstance>(g_instance.get_instance_proc_addr, "vkCreateInstance");
  return create(info, allocator, instance);
}

// Real layers of this kind call the result without a check; here the test should fail, not crash.
VKAPI_ATTR VkResult VKAPI_CALL create_device(VkPhysicalDevice gpu, const VkDeviceCreateInfo* info,
                                             const VkAllocationCallbacks* allocator,
                                             VkDevice* device) {
  g_device = tally::vk::take_next_device(*info);
  const auto get = g_device.get_instance_proc_addr;
  const auto create = next_function<PFN_vkCreateDevice>(get, "vkCreateDevice");
  const auto next_get = next_function<PFN_vkGetDeviceProcAddr>(get, "vkGetDeviceProcAddr");
  if (!create || !next_get) return VK_ERROR_INITIALIZATION_FAILED;
  return create(gpu, info, allocator, device);
}

PFN_vkVoidFunction VKAPI_CALL get_device_proc_addr(VkDevice device, const char* name) {
  return g_device.get_device_proc_addr(device, name);
}

PFN_vkVoidFunction VKAPI_CALL get_instance_proc_addr(VkInstance instance, const char* name) {
  const std::string_view wanted = name;
  if (wanted == "vkCreateInstance") return reinterpret_cast<PFN_vkVoidFunction>(create_instance);
  if (wanted == "vkCreateDevice") return reinterpret_cast<PFN_vkVoidFunction>(create_device);
  if (wanted == "vkGetInstanceProcAddr")
    return reinterpret_cast<PFN_vkVoidFunction>(get_instance_proc_addr);
  return instance ? g_instance.get_instance_proc_addr(instance, name) : nullptr;
}

PFN_vkVoidFunction VKAPI_CALL get_physical_device_proc_addr(VkInstance instance, const char* name) {
  const auto next = g_instance.get_physical_device_proc_addr;
  return next ? next(instance, name) : nullptr;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) VKAPI_ATTR VkResult VKAPI_CALL
vkNegotiateLoaderLayerInterfaceVersion(VkNegotiateLayerInterface* interface) {
  return tally::vk::negotiate(interface, get_instance_proc_addr, get_device_proc_addr,
                              get_physical_device_proc_addr);
}
