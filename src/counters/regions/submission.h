// Counters by region in one submission: joins passes that are suspended in one command buffer and
// resumed in another, and runs capturing work in exclusive mode.
#pragma once

#include <vulkan/vulkan_core.h>

#include <optional>
#include <vector>

#include "counters/regions/exclusive_mode.h"
#include "counters/regions/recorder.h"

namespace tally::counters {

struct RegionState;
class QueueTimelines;

class RegionSubmission {
 public:
  RegionSubmission(RegionState& state, QueueTimelines& timelines)
      : state_(state), timelines_(timelines) {}
  ~RegionSubmission() {
    if (hold_) ExclusiveMode::instance().leave(*hold_);
  }
  RegionSubmission(const RegionSubmission&) = delete;
  RegionSubmission& operator=(const RegionSubmission&) = delete;

  // Call for the command buffers in the order of their execution.
  void add(RegionRecorder& recorder);
  // The semaphores that capturing work waits for and signals.
  void wait(SemaphoreValue semaphore) { work_.waits.push_back(semaphore); }
  void signal(SemaphoreValue semaphore) { work_.signals.push_back(semaphore); }
  bool captures() const { return !recorders_.empty(); }

  // Call before the submission: waits until it may run. After a timeout its counters read 0.
  void enter(VkQueue queue);
  // Call after the submission.
  void submitted(VkQueue queue, VkResult result);

 private:
  void report_timeout() const;
  void await_untracked(VkQueue queue) const;

  RegionState& state_;
  QueueTimelines& timelines_;
  std::vector<RegionRecorder*> recorders_;
  RegionPass* suspended_ = nullptr;
  CapturingWork work_;
  bool waits_for_host_ = false;  // it may wait for a semaphore that the application signals later
  std::optional<uint64_t> hold_;
};

}  // namespace tally::counters
