// Queues that synchronize themselves (VK_KHR_internally_synchronized_queues): all of a device share
// a mutex.
#include "api/newest_driver/newest_driver.h"

namespace tally::test::newest {
namespace {

VKAPI_ATTR void VKAPI_CALL get_queue(VkDevice handle, const VkDeviceQueueInfo2* info,
                                     VkQueue* queue) {
  device_of(handle).next.GetDeviceQueue(handle, info->queueFamilyIndex, info->queueIndex, queue);
}

template <auto kNext, typename Submit>
VKAPI_ATTR VkResult VKAPI_CALL submit(VkQueue queue, uint32_t count, const Submit* submits,
                                      VkFence fence) {
  Device& device = device_of(queue);
  const std::lock_guard lock(device.queue_mutex);
  return (device.next.*kNext)(queue, count, submits, fence);
}

VKAPI_ATTR VkResult VKAPI_CALL wait_idle(VkQueue queue) {
  Device& device = device_of(queue);
  const std::lock_guard lock(device.queue_mutex);
  return device.next.QueueWaitIdle(queue);
}

}  // namespace

void add_queue_hooks(Hooks& hooks) {
  hooks.push_back(vk::hook("vkGetDeviceQueue2", get_queue));
  hooks.push_back(vk::hook("vkQueueSubmit", submit<&DeviceTable::QueueSubmit, VkSubmitInfo>));
  hooks.push_back(vk::hook("vkQueueSubmit2", submit<&DeviceTable::QueueSubmit2, VkSubmitInfo2>));
  hooks.push_back(vk::hook("vkQueueSubmit2KHR", submit<&DeviceTable::QueueSubmit2, VkSubmitInfo2>));
  hooks.push_back(vk::hook("vkQueueWaitIdle", wait_idle));
}

}  // namespace tally::test::newest
