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

void visit_buffers(const VkSubmitInfo& submit, const auto& visit) {
  for (uint32_t i = 0; i < submit.commandBufferCount; ++i) visit(submit.pCommandBuffers[i]);
}
void visit_buffers(const VkSubmitInfo2& submit, const auto& visit) {
  for (uint32_t i = 0; i < submit.commandBufferInfoCount; ++i)
    visit(submit.pCommandBufferInfos[i].commandBuffer);
}
uint32_t signals_of(const VkSubmitInfo& submit) { return submit.signalSemaphoreCount; }
uint32_t signals_of(const VkSubmitInfo2& submit) { return submit.signalSemaphoreInfoCount; }

// Submits the work with a fence of our own, and the application's fence behind it: when the
// application's has signalled, so has ours. `next(fence)` submits the work.
template <typename Submit, typename Next>
VkResult submit_tracked(Device& device, VkQueue queue, std::span<const Submit> submits,
                        const Objects& objects, VkFence fence, const Next& next) {
  InstrumentationState& state = *device.instrumentation();
  const VkFence ours = state.fences.take();
  if (ours == VK_NULL_HANDLE) return next(fence);
  const bool semaphores =
      std::ranges::any_of(submits, [](const Submit& submit) { return signals_of(submit) != 0; });
  const auto submission = std::make_shared<Submission>(state.fences, ours, semaphores);
  const VkResult result = next(ours);
  if (result != VK_SUCCESS) {
    submission->abandon();
    return result;
  }
  for (const auto& object : objects) object->add_submission(submission);
  return fence != VK_NULL_HANDLE ? device.next().QueueSubmit(queue, 0, nullptr, fence) : VK_SUCCESS;
}

template <typename Submit, typename Next>
VkResult submit(VkQueue queue, std::span<const Submit> submits, VkFence fence, const Next& next) {
  Device& device = *find_device(queue);
  const auto lock = lock_queue(device);
  const auto submit_work = [&](VkFence with) { return next(device.next(), with); };
  Objects objects;
  if (const InstrumentationState* state = device.instrumentation()) {
    for (const Submit& submit : submits) {
      visit_buffers(submit,
                    [&](VkCommandBuffer commands) { add_objects(commands, *state, objects); });
    }
  }
  if (objects.empty()) return submit_work(fence);
  return submit_tracked(device, queue, submits, objects, fence, submit_work);
}

VKAPI_ATTR VkResult VKAPI_CALL hook_submit(VkQueue queue, uint32_t count,
                                           const VkSubmitInfo* submits, VkFence fence) {
  return vk::guarded([&] {
    return submit(queue, std::span(submits, count), fence,
                  [&](const DeviceTable& next, VkFence with) {
                    return next.QueueSubmit(queue, count, submits, with);
                  });
  });
}

VKAPI_ATTR VkResult VKAPI_CALL hook_submit2(VkQueue queue, uint32_t count,
                                            const VkSubmitInfo2* submits, VkFence fence) {
  return vk::guarded([&] {
    return submit(queue, std::span(submits, count), fence,
                  [&](const DeviceTable& next, VkFence with) {
                    return next.QueueSubmit2(queue, count, submits, with);
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
