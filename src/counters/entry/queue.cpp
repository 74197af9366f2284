// Submissions: which instrumentation objects they use, until when. Where copies of records share a
// queue with the application, every call into a queue is also kept apart from ours.
#include <algorithm>

#include "counters/entry/entry_points.h"
#include "vk/boundary.h"

namespace tally::counters {
namespace {

using Objects = std::vector<std::shared_ptr<Instrumentation>>;

// Held while the application calls into a queue, where that matters.
std::unique_lock<std::mutex> lock_queue(const Device& device) {
  InstrumentationState* state = device.instrumentation();
  return state && state->shares_queue() ? std::unique_lock(state->queue_mutex)
                                        : std::unique_lock<std::mutex>();
}

void add_objects(VkCommandBuffer commands, const InstrumentationState& state, Objects& objects) {
  const auto known = state.command_buffers.find(commands);
  if (!known) return;
  for (const auto& object : known->objects()) {
    if (std::ranges::find(objects, object) == objects.end()) objects.push_back(object);
  }
}

Objects objects_of(const InstrumentationState& state, std::span<const VkSubmitInfo> submits) {
  Objects objects;
  for (const VkSubmitInfo& submit : submits) {
    for (uint32_t i = 0; i < submit.commandBufferCount; ++i)
      add_objects(submit.pCommandBuffers[i], state, objects);
  }
  return objects;
}

Objects objects_of(const InstrumentationState& state, std::span<const VkSubmitInfo2> submits) {
  Objects objects;
  for (const VkSubmitInfo2& submit : submits) {
    for (uint32_t i = 0; i < submit.commandBufferInfoCount; ++i) {
      add_objects(submit.pCommandBufferInfos[i].commandBuffer, state, objects);
    }
  }
  return objects;
}

// A fence of our own behind the application's work tells when the objects are free again.
void track(Device& device, VkQueue queue, const Objects& objects) {
  if (objects.empty()) return;
  InstrumentationState& state = *device.instrumentation();
  const VkFence fence = state.fences.take();
  if (fence == VK_NULL_HANDLE) return;
  if (device.next().QueueSubmit(queue, 0, nullptr, fence) != VK_SUCCESS) {
    state.fences.give_back(fence);
    return;
  }
  const auto submission = std::make_shared<Submission>(state.fences, fence);
  for (const auto& object : objects) object->add_submission(submission);
}

template <typename Submit, typename Next>
VkResult submit(VkQueue queue, std::span<const Submit> submits, const Next& next) {
  Device& device = *find_device(queue);
  const auto lock = lock_queue(device);
  if (!device.instrumentation()) return next(device.next());
  const Objects objects = objects_of(*device.instrumentation(), submits);
  const VkResult result = next(device.next());
  if (result == VK_SUCCESS) vk::guarded_void([&] { track(device, queue, objects); });
  return result;
}

VKAPI_ATTR VkResult VKAPI_CALL hook_submit(VkQueue queue, uint32_t count,
                                           const VkSubmitInfo* submits, VkFence fence) {
  return vk::guarded([&] {
    return submit(queue, std::span(submits, count), [&](const DeviceTable& next) {
      return next.QueueSubmit(queue, count, submits, fence);
    });
  });
}

VKAPI_ATTR VkResult VKAPI_CALL hook_submit2(VkQueue queue, uint32_t count,
                                            const VkSubmitInfo2* submits, VkFence fence) {
  return vk::guarded([&] {
    return submit(queue, std::span(submits, count), [&](const DeviceTable& next) {
      return next.QueueSubmit2(queue, count, submits, fence);
    });
  });
}

VKAPI_ATTR VkResult VKAPI_CALL hook_bind_sparse(VkQueue queue, uint32_t count,
                                                const VkBindSparseInfo* infos, VkFence fence) {
  const Device& device = *find_device(queue);
  const auto lock = lock_queue(device);
  return device.next().QueueBindSparse(queue, count, infos, fence);
}

VKAPI_ATTR VkResult VKAPI_CALL hook_present(VkQueue queue, const VkPresentInfoKHR* info) {
  const Device& device = *find_device(queue);
  const auto lock = lock_queue(device);
  return device.next().QueuePresentKHR(queue, info);
}

VKAPI_ATTR VkResult VKAPI_CALL hook_queue_wait_idle(VkQueue queue) {
  const Device& device = *find_device(queue);
  const auto lock = lock_queue(device);
  return device.next().QueueWaitIdle(queue);
}

VKAPI_ATTR VkResult VKAPI_CALL hook_device_wait_idle(VkDevice handle) {
  const Device& device = *find_device(handle);
  const auto lock = lock_queue(device);
  return device.next().DeviceWaitIdle(handle);
}

}  // namespace

void add_queue_entry_points(std::vector<vk::Hook>& hooks) {
  hooks.push_back(vk::hook("vkDeviceWaitIdle", hook_device_wait_idle, kQueueShared));
  hooks.push_back(vk::hook("vkQueueBindSparse", hook_bind_sparse, kQueueShared));
  hooks.push_back(vk::hook("vkQueuePresentKHR", hook_present, kQueueShared));
  hooks.push_back(vk::hook("vkQueueSubmit", hook_submit, kInstrumentation));
  hooks.push_back(vk::hook("vkQueueSubmit2", hook_submit2, kInstrumentation));
  hooks.push_back(vk::hook("vkQueueSubmit2KHR", hook_submit2, kInstrumentation));
  hooks.push_back(vk::hook("vkQueueWaitIdle", hook_queue_wait_idle, kQueueShared));
}

}  // namespace tally::counters
