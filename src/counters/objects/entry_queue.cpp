// Submissions: which instrumentation objects they use, until when; and whether they count by
// region, which is exclusive. Where copies of records share a queue with the application, every
// call into a queue is also kept apart from ours.
#include <algorithm>
#include <deque>
#include <optional>

#include "counters/layer/entry_points.h"
#include "counters/regions/submission.h"
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

// Tells the command buffers which pass they make. What the driver is to be told: nothing where it
// is what the application says.
template <typename Submit>
std::optional<MixedPass> set_pass(const InstrumentationState& state, const Submit& submit) {
  std::optional<MixedPass> mixed;
  visit_buffers(submit, [&](VkCommandBuffer commands) {
    const auto known = state.command_buffers.find(commands);
    if (!known || !known->driver_queries()) return;
    const std::optional<MixedPass> pass = known->driver_queries()->take_pass();
    if (!mixed) mixed = pass;
  });
  const VkPerformanceQuerySubmitInfoKHR* info = pass_info(submit.pNext);
  const uint32_t pass = mixed ? mixed->ours : info ? info->counterPassIndex : 0;
  visit_buffers(submit, [&](VkCommandBuffer commands) {
    const auto known = state.command_buffers.find(commands);
    if (known && known->queries()) known->queries()->set_pass(pass);
  });
  return mixed;
}

// Whether queries of the driver's alone are among the work.
template <typename Submit>
bool has_drivers_own(const InstrumentationState& state, const Submit& submit) {
  bool any = false;
  visit_buffers(submit, [&](VkCommandBuffer commands) {
    const auto known = state.command_buffers.find(commands);
    any = any || (known && known->driver_queries() && known->driver_queries()->drivers_own());
  });
  return any;
}

// A submission's command buffers with more around them.
class Buffers {
 public:
  template <typename Submit>
  Buffers(const InstrumentationState& state, const Submit& submit, const MixedPass& pass) {
    visit_buffers(submit, [&](VkCommandBuffer commands) {
      const auto known = state.command_buffers.find(commands);
      if (known && known->driver_queries()) {
        known->driver_queries()->append(all_);
        const VkCommandBuffer ahead = known->driver_queries()->ahead_of(pass);
        if (ahead != VK_NULL_HANDLE) ahead_.push_back(ahead);
      } else {
        all_.push_back(commands);
      }
    });
  }
  const std::vector<VkCommandBuffer>& ahead() const { return ahead_; }
  void write_to(VkSubmitInfo& submit) const {
    submit.commandBufferCount = static_cast<uint32_t>(all_.size());
    submit.pCommandBuffers = all_.data();
  }
  void write_to(VkSubmitInfo2& submit) {
    size_t at = 0;
    for (const VkCommandBuffer commands : all_) {
      VkCommandBufferSubmitInfo info{.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO,
                                     .commandBuffer = commands};
      const bool theirs = at < submit.commandBufferInfoCount &&
                          submit.pCommandBufferInfos[at].commandBuffer == commands;
      infos_.push_back(theirs ? submit.pCommandBufferInfos[at++] : info);
    }
    submit.commandBufferInfoCount = static_cast<uint32_t>(infos_.size());
    submit.pCommandBufferInfos = infos_.data();
  }

 private:
  std::vector<VkCommandBuffer> all_;
  std::vector<VkCommandBuffer> ahead_;
  std::vector<VkCommandBufferSubmitInfo> infos_;
};

// Submissions as the driver is to see them: without the structs on passes where its counters are
// not asked for, and with its own pass and the layer's command buffers where they are beside the
// layer's.
template <typename Submit>
class Submissions {
 public:
  Submissions(VkQueue queue, std::span<const Submit> submits) : submits_(submits) {
    const Device& device = *find_device(queue);
    const QueryState* queries = device.queries();
    if (!queries || !queries->emulated.performance) return;
    for (size_t i = 0; i < submits.size(); ++i) {
      const auto mixed = set_pass(*device.instrumentation(), submits[i]);
      if (mixed) {
        change(i, mixed);
        Buffers& buffers = buffers_.emplace_back(*device.instrumentation(), submits[i], *mixed);
        buffers.write_to(copies_[i]);
        if (!buffers.ahead().empty()) cuts_.push_back({i, &buffers.ahead()});
      } else if (pass_info(submits[i].pNext) &&
                 !has_drivers_own(*device.instrumentation(), submits[i])) {
        change(i, mixed);
      }
    }
  }
  std::span<const Submit> get() const { return submits_; }

  // In pieces where something has to be executed between. `next(part, fence)` submits a part.
  template <typename Next>
  VkResult submit(const DeviceTable& table, VkQueue queue, VkFence fence, const Next& next) const {
    size_t begin = 0;
    for (const Cut& cut : cuts_) {
      VkResult result = VK_SUCCESS;
      if (cut.at != begin) result = next(submits_.subspan(begin, cut.at - begin), VK_NULL_HANDLE);
      const VkSubmitInfo ahead{.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                               .commandBufferCount = static_cast<uint32_t>(cut.commands->size()),
                               .pCommandBuffers = cut.commands->data()};
      if (result == VK_SUCCESS) result = table.QueueSubmit(queue, 1, &ahead, VK_NULL_HANDLE);
      if (result != VK_SUCCESS) return result;
      begin = cut.at;
    }
    return next(submits_.subspan(begin), fence);
  }

 private:
  struct Cut {
    size_t at;
    const std::vector<VkCommandBuffer>* commands;
  };
  void change(size_t i, const std::optional<MixedPass>& pass) {
    if (copies_.empty()) copies_.assign(submits_.begin(), submits_.end());
    submits_ = copies_;
    vk::ChainCopy& chain = chains_.emplace_back(copies_[i].pNext);
    chain.remove(VK_STRUCTURE_TYPE_PERFORMANCE_QUERY_SUBMIT_INFO_KHR);
    if (pass) {
      chain.add(VkPerformanceQuerySubmitInfoKHR{
          .sType = VK_STRUCTURE_TYPE_PERFORMANCE_QUERY_SUBMIT_INFO_KHR,
          .counterPassIndex = pass->drivers});
    }
    copies_[i].pNext = chain.head();
  }

  std::span<const Submit> submits_;
  std::vector<Submit> copies_;
  std::vector<vk::ChainCopy> chains_;
  std::deque<Buffers> buffers_;  // they stay where they are
  std::vector<Cut> cuts_;
};

VKAPI_ATTR VkResult VKAPI_CALL hook_submit(VkQueue queue, uint32_t count,
                                           const VkSubmitInfo* submits, VkFence fence) {
  return vk::guarded([&] {
    const Submissions known(queue, std::span(submits, count));
    return submit(queue, known.get(), fence, [&](const DeviceTable& next, VkFence with) {
      return known.submit(next, queue, with, [&](std::span<const VkSubmitInfo> part, VkFence last) {
        return next.QueueSubmit(queue, static_cast<uint32_t>(part.size()), part.data(), last);
      });
    });
  });
}

VKAPI_ATTR VkResult VKAPI_CALL hook_submit2(VkQueue queue, uint32_t count,
                                            const VkSubmitInfo2* submits, VkFence fence) {
  return vk::guarded([&] {
    const Submissions known(queue, std::span(submits, count));
    return submit(queue, known.get(), fence, [&](const DeviceTable& next, VkFence with) {
      return known.submit(
          next, queue, with, [&](std::span<const VkSubmitInfo2> part, VkFence last) {
            return next.QueueSubmit2(queue, static_cast<uint32_t>(part.size()), part.data(), last);
          });
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
