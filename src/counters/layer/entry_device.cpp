#include "counters/layer/entry_points.h"
#include "vk/boundary.h"

namespace tally::counters {
namespace {

VKAPI_ATTR void VKAPI_CALL hook_destroy_device(VkDevice handle,
                                               const VkAllocationCallbacks* allocator) {
  if (handle == VK_NULL_HANDLE) return;
  const std::unique_ptr<Device> device = take_device(handle);
  if (!device) return;
  // Command buffers of pools that the application has not destroyed.
  vk::guarded_void([&] {
    if (!device->state()) return;
    for (const auto& left : device->state()->command_buffers.values())
      g_command_buffers.erase(left->handle());
  });
  device->release_objects();
  device->next().DestroyDevice(handle, allocator);
}

}  // namespace

void add_device_entry_points(std::vector<vk::Hook>& hooks) {
  hooks.push_back(vk::hook("vkDestroyDevice", hook_destroy_device));
  hooks.push_back(vk::hook("vkGetDeviceProcAddr", get_device_proc_addr));
}

}  // namespace tally::counters
