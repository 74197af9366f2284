// The passes of performance queries in submissions: which pass the command buffers make, and what
// the driver gets. `Submit` is VkSubmitInfo or VkSubmitInfo2.

#include <vulkan/vulkan_core.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "counters/features/regions/recorder.h"
#include "counters/layer/entry_points.h"
#include "counters/recording/command_buffer.h"
#include "vk/chain.h"
#include "vk/own_call.h"

namespace tally::counters {

inline void visit_buffers(const VkSubmitInfo& submit, const auto& visit) {
  for (uint32_t i = 0; i < submit.commandBufferCount; ++i) visit(submit.pCommandBuffers[i]);
}
inline void visit_buffers(const VkSubmitInfo2& submit, const auto& visit) {
  for (uint32_t i = 0; i < submit.commandBufferInfoCount; ++i)
    visit(submit.pCommandBufferInfos[i].commandBuffer);
}

inline const VkPerformanceQuerySubmitInfoKHR* pass_info(const void* chain) {
  return vk::find_in_chain<VkPerformanceQuerySubmitInfoKHR>(
      chain, VK_STRUCTURE_TYPE_PERFORMANCE_QUERY_SUBMIT_INFO_KHR);
}

// Selects the pass that the command buffers make. Returns the passes where the driver's differs
// from the application's.
template <typename Submit>
std::optional<MixedPass> set_pass(const DeviceState& state, const Submit& submit) {
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
    if (known && known->queries()) known->queries()->passes().select(pass);
  });
  return mixed;
}

// True if the work has queries whose counters are all the driver's.
template <typename Submit>
bool has_driver_only(const DeviceState& state, const Submit& submit) {
  bool any = false;
  visit_buffers(submit, [&](VkCommandBuffer commands) {
    const auto known = state.command_buffers.find(commands);
    any = any || (known && known->driver_queries() && known->driver_queries()->has_driver_only());
  });
  return any;
}

// The command buffers of a submission, with those that the layer executes before and after them.
class SubmittedBuffers {
 public:
  template <typename Submit>
  SubmittedBuffers(const DeviceState& state, const Submit& submit, const MixedPass& pass) {
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
  bool has_ahead() const { return !ahead_.empty(); }
  void write_ahead(VkSubmitInfo& submit) const {
    submit = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
              .commandBufferCount = static_cast<uint32_t>(ahead_.size()),
              .pCommandBuffers = ahead_.data()};
  }
  void write_ahead(VkSubmitInfo2& submit) {
    for (const VkCommandBuffer commands : ahead_) {
      ahead_infos_.push_back(
          {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO, .commandBuffer = commands});
    }
    submit = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2,
              .commandBufferInfoCount = static_cast<uint32_t>(ahead_infos_.size()),
              .pCommandBufferInfos = ahead_infos_.data()};
  }
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
  std::vector<VkCommandBufferSubmitInfo> ahead_infos_;
};

// Submissions as the driver gets them. The pass structs are removed where no query has counters of
// the driver. Where a query has counters of both, the driver gets its own pass index and the
// command buffers of the layer.
template <typename Submit>
class PassSubmissions {
 public:
  // `state`: null where no feature is enabled on the device.
  PassSubmissions(const DeviceState* state, std::span<const Submit> submits) : submits_(submits) {
    const QueryState* queries = state ? state->queries.get() : nullptr;
    if (!queries || !queries->emulated.performance) return;
    for (size_t i = 0; i < submits.size(); ++i) {
      const auto mixed = set_pass(*state, submits[i]);
      if (mixed) {
        change(i, mixed);
        SubmittedBuffers& buffers = buffers_.emplace_back(*state, submits[i], *mixed);
        buffers.write_to(copies_[i]);
        if (buffers.has_ahead()) {
          Submit ahead;
          buffers.write_ahead(ahead);
          inserted_.push_back({i, ahead});
        }
      } else if (pass_info(submits[i].pNext) && !has_driver_only(*state, submits[i])) {
        change(i, mixed);
      }
    }
    if (inserted_.empty()) return;
    together_.assign(submits_.begin(), submits_.end());
    for (size_t k = inserted_.size(); k > 0; --k) {
      const Inserted& one = inserted_[k - 1];
      together_.insert(together_.begin() + static_cast<ptrdiff_t>(one.before), one.submit);
    }
  }
  // The application's submissions.
  std::span<const Submit> get() const { return submits_; }
  // The same with those that the layer executes in between. They go to the driver in one call,
  // which succeeds or fails as a whole.
  std::span<const Submit> with_ahead() const {
    return together_.empty() ? submits_ : std::span<const Submit>(together_);
  }

 private:
  struct Inserted {
    size_t before;
    Submit submit;
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
  std::vector<SubmittedBuffers> buffers_;  // the submissions point into their vectors
  std::vector<Inserted> inserted_;
  std::vector<Submit> together_;  // empty where nothing is inserted
};

// Submissions: until when they use instrumentation objects, and whether they are counted by region
// and therefore exclusive. Where the layer copies
// records on a queue of the application, all calls that use queues are synchronized with the layer.

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

// Without a timeline the layer does not know when the work completes, and cannot tell an
// application that destroys an object too early.
template <typename Batch, typename Next>
VkResult submit_tracked(Device& device, VkQueue queue, const PassSubmissions<Batch>& submission,
                        const Objects& objects, bool announced, const Next& next) {
  const auto timeline = device.state()->objects.timelines.of(queue);
  const std::span<const Batch> batches = submission.with_ahead();
  if (!timeline) {
    device.state()->objects.device.report(
        vk::take_own_failure(), "vkQueueSubmit(): the completion of submissions is not tracked");
    return next(static_cast<uint32_t>(batches.size()), batches.data());
  }
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

void add_queue_entry_points(Hooks& hooks) {
  hooks.push_back(make_hook("vkDeviceWaitIdle", hook_device_wait_idle, HookCondition::QueueShared));
  hooks.push_back(make_hook("vkQueueBindSparse", hook_bind_sparse, HookCondition::QueueShared));
  hooks.push_back(make_hook("vkQueuePresentKHR", hook_present, HookCondition::QueueShared));
  hooks.push_back(make_hook("vkQueueSubmit", hook_submit, HookCondition::Instrumentation));
  hooks.push_back(make_hook("vkQueueSubmit2", hook_submit2, HookCondition::Instrumentation));
  hooks.push_back(make_hook("vkQueueSubmit2KHR", hook_submit2, HookCondition::Instrumentation));
  hooks.push_back(make_hook("vkQueueWaitIdle", hook_queue_wait_idle, HookCondition::QueueShared));
}

}  // namespace tally::counters
