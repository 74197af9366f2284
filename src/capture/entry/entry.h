// The functions that the layer stands in front of. entry_*.cpp implement them: thin, each calls the
// state and then the next layer, and nothing that is thrown inside leaves them or keeps the
// application's call from going down.
#pragma once

#include <vulkan/vulkan_core.h>

#include <span>
#include <string_view>

#include "capture/device.h"
#include "capture/tables.h"

namespace tally::capture {

struct DeviceHook {
  std::string_view name;
  PFN_vkVoidFunction function;
  bool (*reachable)(const DeviceTable& table);  // the next layer has what the hook calls
  bool for_pictures = false;                    // only where final images are captured

  DeviceHook only_for_pictures() const { return {name, function, reachable, true}; }
};

// Sorted by name.
std::span<const DeviceHook> device_hooks();
const DeviceHook* find_device_hook(std::string_view name);

// The hooks of each entry_*.cpp.
std::span<const DeviceHook> action_hooks();
std::span<const DeviceHook> pass_hooks();
std::span<const DeviceHook> command_buffer_hooks();
std::span<const DeviceHook> object_hooks();
std::span<const DeviceHook> image_hooks();
std::span<const DeviceHook> pipeline_hooks();
std::span<const DeviceHook> queue_hooks();

template <auto Member, typename Function>
DeviceHook device_hook(std::string_view name, Function* function) {
  return {name, reinterpret_cast<PFN_vkVoidFunction>(function),
          [](const DeviceTable& table) { return table.*Member != nullptr; }};
}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL GetInstanceProcAddr(VkInstance instance, const char* name);
VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL GetDeviceProcAddr(VkDevice device, const char* name);
VKAPI_ATTR VkResult VKAPI_CALL CreateInstance(const VkInstanceCreateInfo* info,
                                              const VkAllocationCallbacks* allocator,
                                              VkInstance* instance);
VKAPI_ATTR void VKAPI_CALL DestroyInstance(VkInstance instance,
                                           const VkAllocationCallbacks* allocator);
VKAPI_ATTR VkResult VKAPI_CALL CreateDevice(VkPhysicalDevice physical_device,
                                            const VkDeviceCreateInfo* info,
                                            const VkAllocationCallbacks* allocator,
                                            VkDevice* device);
VKAPI_ATTR void VKAPI_CALL DestroyDevice(VkDevice device, const VkAllocationCallbacks* allocator);

}  // namespace tally::capture
