#include "counters/regions/submission.h"

#include <fmt/format.h>

#include <algorithm>

#include "counters/objects/submission.h"
#include "counters/regions/state.h"
#include "vk/own_call.h"

namespace tally::counters {

void RegionSubmission::add(RegionRecorder& recorder) {
  RegionPass* resumed = recorder.resumed_pass();
  if (resumed && suspended_) resumed->join(*suspended_);
  if (RegionPass* pass = recorder.suspended_pass()) suspended_ = pass;
  if (recorder.captures()) recorders_.push_back(&recorder);
}

void RegionSubmission::enter(VkQueue queue) {
  work_.queue = queue;
  waits_for_host_ =
      std::ranges::any_of(work_.waits, [](const SemaphoreValue& wait) { return wait.value != 0; });
  const uint64_t timeout = state_.device.options.exclusive_timeout * 1'000'000;
  hold_ = ExclusiveMode::instance().enter(std::move(work_), timeout);
  if (!hold_) report_timeout();
  for (RegionRecorder* recorder : recorders_) recorder->enable(hold_.has_value());
}

void RegionSubmission::report_timeout() const {
  const auto holder = ExclusiveMode::instance().holder();
  const std::string who = holder ? fmt::format("process {}", holder->pid) : "other work";
  state_.device.messages.notice(
      "TALLY-not-exclusive", VK_OBJECT_TYPE_DEVICE, state_.device.handle_bits(),
      fmt::format("counters by region read 0: {} was capturing for {} ms (setting "
                  "exclusive_timeout)",
                  who, state_.device.options.exclusive_timeout));
}

// A submission of the layer's own tells when the work has completed.
void RegionSubmission::submitted(VkQueue queue, VkResult result) {
  if (!hold_ || result != VK_SUCCESS) return;
  if (const auto timeline = timelines_.of(queue)) {
    const uint64_t value = timeline->signal([&](VkSemaphore semaphore, uint64_t next) {
      const vk::SignalledBatches<VkSubmitInfo> batch({}, semaphore, next);
      return vk::own("vkQueueSubmit", state_.device.next.QueueSubmit(queue, batch.count(),
                                                                     batch.data(), VK_NULL_HANDLE));
    });
    if (value != 0) {
      state_.exclusive.watch(std::make_shared<Submission>(timeline, value, false), *hold_);
      hold_.reset();
      return;
    }
  }
  await_untracked(queue);
}

// The hold ends next, so the work should have completed.
void RegionSubmission::await_untracked(VkQueue queue) const {
  const vk::OwnFailure failure = vk::take_own_failure();
  if (!waits_for_host_ &&
      vk::own("vkQueueWaitIdle", state_.device.next.QueueWaitIdle(queue)) == VK_SUCCESS) {
    return;
  }
  state_.device.messages.notice(
      "TALLY-not-exclusive", VK_OBJECT_TYPE_DEVICE, state_.device.handle_bits(),
      fmt::format("counters by region may include work of other queues and processes: {}",
                  failure.text()));
}

}  // namespace tally::counters
