// A submission as counters by region see it: passes that were suspended in one command buffer and
// resumed in another are joined, and capturing work is entered into the exclusive mode.
#pragma once

#include <vulkan/vulkan_core.h>

#include <optional>
#include <vector>

#include "counters/regions/exclusive_mode.h"
#include "counters/regions/recorder.h"

namespace tally::counters {

class Device;
class CommandBuffer;

class RegionSubmission {
 public:
  explicit RegionSubmission(Device& device) : device_(device) {}
  ~RegionSubmission() {
    if (hold_) ExclusiveMode::instance().leave(*hold_);
  }
  RegionSubmission(const RegionSubmission&) = delete;
  RegionSubmission& operator=(const RegionSubmission&) = delete;

  // The command buffers, in the order of their execution.
  void add(CommandBuffer& commands);
  // For work that captures: semaphores that decide when it runs.
  void wait(SemaphoreValue semaphore) { work_.waits.push_back(semaphore); }
  void signal(SemaphoreValue semaphore) { work_.signals.push_back(semaphore); }
  bool captures() const { return !recorders_.empty(); }

  // Before it goes down: waits until it may run. If that takes too long its counters will read 0.
  void enter(VkQueue queue);
  // After it went down, or did not.
  void submitted(VkQueue queue, VkResult result);

 private:
  void add_recorder(RegionRecorder& recorder);
  void report_timeout() const;

  Device& device_;
  std::vector<RegionRecorder*> recorders_;
  RegionRecorder::Pass* suspended_ = nullptr;
  CapturingWork work_;
  std::optional<uint64_t> hold_;
};

}  // namespace tally::counters
