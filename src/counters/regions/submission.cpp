#include "counters/regions/submission.h"

#include <fmt/format.h>

#include "counters/layer/device.h"

namespace tally::counters {

void RegionSubmission::add(CommandBuffer& commands) {
  if (!commands.regions()) return;
  add_recorder(*commands.regions());
  for (const auto& secondary : commands.capturing()) add(*secondary);
}

void RegionSubmission::add_recorder(RegionRecorder& recorder) {
  RegionRecorder::Pass* resumed = recorder.resumed_pass();
  if (resumed && suspended_) RegionRecorder::join(*suspended_, *resumed);
  if (RegionRecorder::Pass* pass = recorder.suspended_pass()) suspended_ = pass;
  if (recorder.captures()) recorders_.push_back(&recorder);
}

void RegionSubmission::enter(VkQueue queue) {
  work_.queue = queue;
  const uint64_t timeout = device_.instance().options().exclusive_timeout * 1'000'000;
  hold_ = ExclusiveMode::instance().enter(std::move(work_), timeout);
  if (!hold_) report_timeout();
  for (RegionRecorder* recorder : recorders_) recorder->enable(hold_.has_value());
}

void RegionSubmission::report_timeout() const {
  const auto holder = ExclusiveMode::instance().holder();
  const std::string who = holder ? fmt::format("process {}", holder->pid) : "other work";
  device_.messages().notice(
      "TALLY-not-exclusive", VK_OBJECT_TYPE_DEVICE, device_.handle_bits(),
      fmt::format("counters by region read 0: {} was capturing for {} ms (setting "
                  "exclusive_timeout)",
                  who, device_.instance().options().exclusive_timeout));
}

// An empty submission with a fence of ours tells when the work has completed.
void RegionSubmission::submitted(VkQueue queue, VkResult result) {
  if (!hold_) return;
  FencePool& fences = device_.instrumentation()->fences;
  const VkFence fence = result == VK_SUCCESS ? fences.take() : VK_NULL_HANDLE;
  if (fence != VK_NULL_HANDLE) {
    auto submission = std::make_shared<Submission>(fences, fence, false);
    if (device_.next().QueueSubmit(queue, 0, nullptr, fence) == VK_SUCCESS) {
      device_.regions()->exclusive.watch(std::move(submission), *hold_);
      hold_.reset();
      return;
    }
    submission->abandon();
  }
}

}  // namespace tally::counters
