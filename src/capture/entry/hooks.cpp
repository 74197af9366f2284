// The list of functions that the layer intercepts.
#include <utility>
#include <vector>

#include "capture/entry/entry.h"

namespace tally::capture {

// The tables are intentionally leaked: applications call Vulkan from static destructors.
const vk::HookTable& instance_hooks() {
  static const auto* const table = new vk::HookTable({
      vk::hook("vkCreateDevice", CreateDevice),
      vk::hook("vkCreateInstance", CreateInstance),
      vk::hook("vkDestroyInstance", DestroyInstance),
      vk::hook("vkGetDeviceProcAddr", GetDeviceProcAddr),
      vk::hook("vkGetInstanceProcAddr", GetInstanceProcAddr),
  });
  return *table;
}

const vk::HookTable& any_device_hooks() {
  static const auto* const table = new vk::HookTable({
      vk::hook("vkDestroyDevice", DestroyDevice),
      vk::hook("vkGetDeviceProcAddr", GetDeviceProcAddr),
  });
  return *table;
}

const vk::BasicHookTable<DeviceCondition>& device_hooks() {
  static const auto* const table = [] {
    std::vector<DeviceHook> all;
    for (const auto& hooks :
         {action_hooks(), pass_hooks(), command_buffer_hooks(), object_hooks(), image_hooks(),
          pipeline_hooks(), shader_object_hooks(), execution_set_hooks(), queue_hooks()}) {
      all.insert(all.end(), hooks.begin(), hooks.end());
    }
    return new vk::BasicHookTable<DeviceCondition>(std::move(all));
  }();
  return *table;
}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL GetInstanceProcAddr(VkInstance handle, const char* name) {
  if (const vk::Hook* hook = instance_hooks().find(name)) return hook->function;
  if (handle == VK_NULL_HANDLE) return nullptr;
  const std::shared_ptr<Instance> instance = Instance::find(handle);
  if (!instance) return nullptr;
  const PFN_vkVoidFunction next = instance->next().get_instance_proc_addr(handle, name);
  if (!next) return nullptr;
  const vk::Hook* hook = physical_device_hooks().find(name);
  if (!hook) hook = debug_utils_hooks().find(name);
  return hook ? hook->function : next;
}

}  // namespace tally::capture
