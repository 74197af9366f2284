// Submissions: until when they use instrumentation objects, and whether they are counted by region
// and therefore exclusive. Where the layer copies
// records on a queue of the application, all calls that use queues are synchronized with the layer.
#include <algorithm>
#include <memory>

#include "counters/layer/entry_points.h"
#include "counters/recording/pass_submissions.h"
#include "counters/regions/submission.h"
#include "vk/boundary.h"
#include "vk/chain.h"

namespace tally::counters {
namespace {

using Objects = std::vector<std::shared_ptr<Instrumentation>>;

// Held while the application uses a queue, if the layer may use the same queue.
std::unique_lock<std::mutex> lock_queue(const Device& device) {
  DeviceState* state = device.state();
  return state && state->memory.shares_queue() ? std::unique_lock(state->memory.queue_mutex)
                                               : std::unique_lock<std::mutex>();
}

void add_objects(VkCommandBuffer commands, const DeviceState& state, Objects& objects) {
  const auto known = state.command_buffers.find(commands);
  if (!known) return;
  for (const auto& object : known->objects()) {
    if (std::ranges::find(objects, object) == objects.end()) objects.push_back(object);
  }
}

// The value of a timeline semaphore; 0 for a binary one.
uint64_t value_at(uint32_t count, const uint64_t* values, uint32_t i) {
  return i < count && values ? values[i] : 0;
}

void add_semaphores(const VkSubmitInfo& submit, RegionSubmission& regions) {
  const auto* timeline = vk::find_in_chain<VkTimelineSemaphoreSubmitInfo>(
      submit.pNext, VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO);
  const VkTimelineSemaphoreSubmitInfo values =
      timeline ? *timeline : VkTimelineSemaphoreSubmitInfo{};
  for (uint32_t i = 0; i < submit.waitSemaphoreCount; ++i) {
    regions.wait({submit.pWaitSemaphores[i],
                  value_at(values.waitSemaphoreValueCount, values.pWaitSemaphoreValues, i)});
  }
  for (uint32_t i = 0; i < submit.signalSemaphoreCount; ++i) {
    regions.signal({submit.pSignalSemaphores[i],
                    value_at(values.signalSemaphoreValueCount, values.pSignalSemaphoreValues, i)});
  }
}
void add_semaphores(const VkSubmitInfo2& submit, RegionSubmission& regions) {
  for (uint32_t i = 0; i < submit.waitSemaphoreInfoCount; ++i) {
    regions.wait({submit.pWaitSemaphoreInfos[i].semaphore, submit.pWaitSemaphoreInfos[i].value});
  }
  for (uint32_t i = 0; i < submit.signalSemaphoreInfoCount; ++i) {
    regions.signal(
        {submit.pSignalSemaphoreInfos[i].semaphore, submit.pSignalSemaphoreInfos[i].value});
  }
}

uint32_t signals_of(const VkSubmitInfo& submit) { return submit.signalSemaphoreCount; }
uint32_t signals_of(const VkSubmitInfo2& submit) { return submit.signalSemaphoreInfoCount; }

// Without a timeline the layer does not know when the work completes,
// and cannot tell an application that destroys an object too early.
template <typename Batch, typename Next>
VkResult submit_tracked(Device& device, VkQueue queue, const PassSubmissions<Batch>& submission,
                        const Objects& objects, bool announced, const Next& next) {
  const auto timeline = device.state()->objects.timelines.of(queue);
  const std::span<const Batch> batches = submission.with_ahead();
  if (!timeline) return next(static_cast<uint32_t>(batches.size()), batches.data());
  VkResult result = VK_SUCCESS;
  const uint64_t value = timeline->signal([&](VkSemaphore semaphore, uint64_t signalled) {
    const vk::SignalledBatches<Batch> all(batches, semaphore, signalled);
    return result = next(all.count(), all.data());
  });
  if (value == 0) return result;
  const auto tracked = std::make_shared<Submission>(timeline, value, announced);
  for (const auto& object : objects) object->add_submission(tracked);
  return result;
}

// `next(count, batches)` submits.
template <typename Batch, typename Next>
VkResult submit_instrumented(Device& device, VkQueue queue,
                             const PassSubmissions<Batch>& submission, VkFence fence,
                             const Next& next) {
  const auto lock = lock_queue(device);
  Objects objects;
  bool announced = fence != VK_NULL_HANDLE;
  if (const DeviceState* state = device.state()) {
    for (const Batch& batch : submission.get()) {
      announced |= signals_of(batch) != 0;
      visit_buffers(batch,
                    [&](VkCommandBuffer commands) { add_objects(commands, *state, objects); });
    }
  }
  if (!objects.empty()) {
    return submit_tracked(device, queue, submission, objects, announced, next);
  }
  const std::span<const Batch> batches = submission.with_ahead();
  return next(static_cast<uint32_t>(batches.size()), batches.data());
}

// The recorder of the command buffer, then those of the secondaries that it executes.
void add_recorders(const CommandBuffer& commands, RegionSubmission& regions) {
  if (!commands.regions()) return;
  regions.add(*commands.regions());
  for (const auto& secondary : commands.capturing()) add_recorders(*secondary, regions);
}

// Waits for other capturing work before it locks the queue, since that work may need the queue.
// `next(count, batches)` submits.
template <typename Batch, typename Next>
VkResult submit(VkQueue queue, const PassSubmissions<Batch>& submission, VkFence fence,
                const Next& next) {
  Device& device = *find_device(queue);
  if (!device.regions()) return submit_instrumented(device, queue, submission, fence, next);
  RegionSubmission regions(*device.regions(), device.state()->objects.timelines);
  for (const Batch& one : submission.get()) {
    visit_buffers(one, [&](VkCommandBuffer commands) {
      const auto known = device.state()->command_buffers.find(commands);
      if (known) add_recorders(*known, regions);
    });
  }
  if (!regions.captures()) return submit_instrumented(device, queue, submission, fence, next);
  for (const Batch& one : submission.get()) add_semaphores(one, regions);
  regions.enter(queue);
  const VkResult result = submit_instrumented(device, queue, submission, fence, next);
  const auto lock = lock_queue(device);
  regions.submitted(queue, result);
  return result;
}

VKAPI_ATTR VkResult VKAPI_CALL hook_submit(VkQueue queue, uint32_t count,
                                           const VkSubmitInfo* submits, VkFence fence) {
  return vk::guarded([&] {
    const Device& device = *find_device(queue);
    const PassSubmissions known(device.state(), std::span(submits, count));
    return submit(queue, known, fence, [&](uint32_t all, const VkSubmitInfo* batches) {
      return device.next().QueueSubmit(queue, all, batches, fence);
    });
  });
}

VKAPI_ATTR VkResult VKAPI_CALL hook_submit2(VkQueue queue, uint32_t count,
                                            const VkSubmitInfo2* submits, VkFence fence) {
  return vk::guarded([&] {
    const Device& device = *find_device(queue);
    const PassSubmissions known(device.state(), std::span(submits, count));
    return submit(queue, known, fence, [&](uint32_t all, const VkSubmitInfo2* batches) {
      return device.next().QueueSubmit2(queue, all, batches, fence);
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
