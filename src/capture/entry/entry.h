// The functions that the layer intercepts, implemented by the files of this folder. They are thin:
// each one updates the layer's state and calls the next layer. No exception leaves them, and no
// exception prevents the application's call from reaching the next layer.
#pragma once

#include <vulkan/vulkan_core.h>

#include <span>
#include <string>
#include <string_view>

#include "capture/base/tables.h"
#include "capture/layer/device.h"
#include "vk/layer.h"
#include "vk/own_call.h"

namespace tally::capture {

// The condition under which a function of a captured device is intercepted.
struct DeviceCondition {
  // A function with purposes is intercepted where the device has one of them.
  static constexpr uint32_t kAlways = 0;
  static constexpr uint32_t kPictures = 1;  // final images are captured
  static constexpr uint32_t kSizes = 2;     // dispatches may share counts

  bool (*reachable)(const DeviceTable& table);  // the next layer has the hook's functions
  uint32_t purposes = kAlways;

  bool holds(Device& device) const {
    const uint32_t wanted =
        (device.images() ? kPictures : 0) | (device.descriptor_sizes() ? kSizes : 0);
    return reachable(device.table()) && (purposes == kAlways || (purposes & wanted) != 0);
  }
};
using DeviceHook = vk::BasicHook<DeviceCondition>;

const vk::HookTable& instance_hooks();
const vk::HookTable& physical_device_hooks();
// Hooks of all devices, captured or not. All other device hooks exist on captured devices only.
const vk::HookTable& any_device_hooks();
const vk::BasicHookTable<DeviceCondition>& device_hooks();
// Further hooks, of all commands that are recorded into command buffers: for captured devices whose
// command buffers may have counting copies. Devices that are timed also have the hooks with
// kEndsTimes, and those with kHoldsTimestamps where barriers hold timestamps back
// (TimestampPools). device_hooks() come first.
inline constexpr uint32_t kEndsTimes = 1;  // the command is work for the GPU
inline constexpr uint32_t kHoldsTimestamps = 2;
const vk::HookTable& recorded_command_hooks();
// From now on command buffers get no counting copies. The log says the reason once.
void stop_copies(RecordingContext& context, std::string_view reason);

// The driver may have rejected a request only because of what the layer has added.
inline bool worth_another_try(VkResult result) {
  return result < 0 && result != VK_ERROR_DEVICE_LOST;
}

inline std::string refusal_text(VkResult result) {
  return "the driver rejected it (" + vk::result_name(result) + ")";
}

// The device functions of VK_EXT_debug_utils (debug_utils.cpp). It is an instance extension: the
// loader gets these functions with vkGetInstanceProcAddr, once for all devices. So they are also
// called for devices that are not captured: registers the next functions of a device, captured or
// not.
void add_debug_utils(VkInstance instance, VkDevice device, const vk::NextDevice& next);
void remove_debug_utils(VkDevice device);
const vk::HookTable& debug_utils_hooks();

// The hooks of each file of this folder.
std::span<const DeviceHook> action_hooks();
std::span<const DeviceHook> pass_hooks();
std::span<const DeviceHook> command_buffer_hooks();
std::span<const DeviceHook> descriptor_hooks();
std::span<const DeviceHook> object_hooks();
std::span<const DeviceHook> image_hooks();
std::span<const DeviceHook> pipeline_hooks();
std::span<const DeviceHook> shader_object_hooks();
std::span<const DeviceHook> execution_set_hooks();
std::span<const DeviceHook> queue_hooks();

template <auto Member, typename Function>
DeviceHook device_hook(std::string_view name, Function* function,
                       uint32_t purposes = DeviceCondition::kAlways) {
  const auto reachable = [](const DeviceTable& table) { return table.*Member != nullptr; };
  return vk::basic_hook(name, function, DeviceCondition{reachable, purposes});
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
