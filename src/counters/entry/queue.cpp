// Submissions: which instrumentation objects they use, until when; and whether they count by
// region, which is exclusive. Where copies of records share a queue with the application, every
// call into a queue is also kept apart from ours.
#include <algorithm>

#include "counters/entry/entry_points.h"
#include "counters/state/region_submission.h"
#include "vk/boundary.h"
#include "vk/chain.h"

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
// Of a timeline semaphore, if it is one.
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
VkResult submit_instrumented(Device& device, VkQueue queue, std::span<const Submit> submits,
                             VkFence fence, const Next& next) {
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

// The lock on the queue is taken after the wait for other capturing work: that may need the queue.
template <typename Submit, typename Next>
VkResult submit(VkQueue queue, std::span<const Submit> submits, VkFence fence, const Next& next) {
  Device& device = *find_device(queue);
  if (!device.regions()) return submit_instrumented(device, queue, submits, fence, next);
  RegionSubmission regions(device);
  for (const Submit& one : submits) {
    visit_buffers(one, [&](VkCommandBuffer commands) {
      const auto known = device.instrumentation()->command_buffers.find(commands);
      if (known) regions.add(*known);
    });
  }
  if (!regions.captures()) return submit_instrumented(device, queue, submits, fence, next);
  for (const Submit& one : submits) add_semaphores(one, regions);
  regions.enter(queue);
  const VkResult result = submit_instrumented(device, queue, submits, fence, next);
  const auto lock = lock_queue(device);
  regions.submitted(queue, result);
  return result;
}

// --- passes of performance queries

const VkPerformanceQuerySubmitInfoKHR* pass_info(const void* chain) {
  return vk::find_in_chain<VkPerformanceQuerySubmitInfoKHR>(
      chain, VK_STRUCTURE_TYPE_PERFORMANCE_QUERY_SUBMIT_INFO_KHR);
}

// Tells the command buffers which pass they make.
template <typename Submit>
void set_pass(const InstrumentationState& state, const Submit& submit) {
  const VkPerformanceQuerySubmitInfoKHR* info = pass_info(submit.pNext);
  visit_buffers(submit, [&](VkCommandBuffer commands) {
    const auto known = state.command_buffers.find(commands);
    if (known && known->queries()) known->queries()->set_pass(info ? info->counterPassIndex : 0);
  });
}

// Submissions, without the structs on passes: the driver does not know them.
template <typename Submit>
class Submissions {
 public:
  Submissions(VkQueue queue, std::span<const Submit> submits) : submits_(submits) {
    const Device& device = *find_device(queue);
    const QueryState* queries = device.queries();
    if (!queries || !queries->emulated.performance) return;
    for (const Submit& one : submits) set_pass(*device.instrumentation(), one);
    if (std::ranges::any_of(submits, [](const Submit& one) { return pass_info(one.pNext); }))
      copy_without_passes();
  }
  std::span<const Submit> get() const { return submits_; }

 private:
  void copy_without_passes() {
    copies_.assign(submits_.begin(), submits_.end());
    for (Submit& copy : copies_) {
      vk::ChainCopy& chain = chains_.emplace_back(copy.pNext);
      chain.remove(VK_STRUCTURE_TYPE_PERFORMANCE_QUERY_SUBMIT_INFO_KHR);
      copy.pNext = chain.head();
    }
    submits_ = copies_;
  }

  std::span<const Submit> submits_;
  std::vector<Submit> copies_;
  std::vector<vk::ChainCopy> chains_;
};

VKAPI_ATTR VkResult VKAPI_CALL hook_submit(VkQueue queue, uint32_t count,
                                           const VkSubmitInfo* submits, VkFence fence) {
  return vk::guarded([&] {
    const Submissions known(queue, std::span(submits, count));
    return submit(queue, known.get(), fence, [&](const DeviceTable& next, VkFence with) {
      return next.QueueSubmit(queue, count, known.get().data(), with);
    });
  });
}

VKAPI_ATTR VkResult VKAPI_CALL hook_submit2(VkQueue queue, uint32_t count,
                                            const VkSubmitInfo2* submits, VkFence fence) {
  return vk::guarded([&] {
    const Submissions known(queue, std::span(submits, count));
    return submit(queue, known.get(), fence, [&](const DeviceTable& next, VkFence with) {
      return next.QueueSubmit2(queue, count, known.get().data(), with);
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
