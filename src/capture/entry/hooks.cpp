// Which functions the layer stands in front of.
#include <algorithm>
#include <vector>

#include "capture/entry/debug_utils.h"
#include "capture/entry/entry.h"

namespace tally::capture {

std::span<const DeviceHook> device_hooks() {
  // Leaked on purpose: applications call Vulkan from static destructors.
  static const auto* const sorted = [] {
    auto* all = new std::vector<DeviceHook>;
    for (const auto& hooks : {action_hooks(), pass_hooks(), command_buffer_hooks(), object_hooks(),
                              image_hooks(), pipeline_hooks(), queue_hooks()}) {
      all->insert(all->end(), hooks.begin(), hooks.end());
    }
    std::sort(all->begin(), all->end(),
              [](const DeviceHook& a, const DeviceHook& b) { return a.name < b.name; });
    return all;
  }();
  return *sorted;
}

const DeviceHook* find_device_hook(std::string_view name) {
  const auto hooks = device_hooks();
  const auto found = std::lower_bound(
      hooks.begin(), hooks.end(), name,
      [](const DeviceHook& hook, std::string_view wanted) { return hook.name < wanted; });
  return found != hooks.end() && found->name == name ? &*found : nullptr;
}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL GetInstanceProcAddr(VkInstance handle, const char* name) {
  const std::string_view wanted = name;
  const auto own = [](auto* function) { return reinterpret_cast<PFN_vkVoidFunction>(function); };
  if (wanted == "vkGetInstanceProcAddr") return own(GetInstanceProcAddr);
  if (wanted == "vkGetDeviceProcAddr") return own(GetDeviceProcAddr);
  if (wanted == "vkCreateInstance") return own(CreateInstance);
  if (wanted == "vkDestroyInstance") return own(DestroyInstance);
  if (wanted == "vkCreateDevice") return own(CreateDevice);
  if (handle == VK_NULL_HANDLE) return nullptr;
  const std::shared_ptr<Instance> instance = Instance::find(handle);
  if (!instance) return nullptr;
  const PFN_vkVoidFunction next = instance->next().get_instance_proc_addr(handle, name);
  const PFN_vkVoidFunction hook = next ? find_debug_utils_hook(wanted) : nullptr;
  return hook ? hook : next;
}

}  // namespace tally::capture
