// A kernel, plain or instrumented, and a command buffer with units of its work.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "harness/rounds.h"
#include "kernels.h"

namespace tally::bench {

class KernelRun {
 public:
  // `technique` is null for the plain kernel.
  KernelRun(test::Context& context, const Capabilities& capabilities, const Kernel& kernel,
            const Technique* technique, VkPipelineCreateFlags flags = 0);
  // Counts manually.
  KernelRun(test::Context& context, const Kernel& kernel, const CountedByHand& by_hand);

  // Records what measure() runs from now on. Every unit has its own record, as commands do.
  void record(uint32_t units);
  // Device time, wall-clock time, and processor time of all threads of the process.
  Sample measure();
  // The number of units that take `target` nanoseconds.
  uint32_t units_for(double target);
  // Executions of each block in one unit.
  std::vector<uint64_t> executions();
  // Checks a run that counts manually: throws unless one unit counts what `executions` says.
  void require_counts(const std::vector<uint64_t>& executions);

  VkPipeline pipeline() const { return pipeline_; }
  const InstrumentedShaders* shaders() const { return shaders_ ? &*shaders_ : nullptr; }

 private:
  void push_record(uint32_t index);
  std::array<uint64_t, 3> counts_by_hand();

  test::Context& context_;
  const Kernel& kernel_;
  GpuTimer timer_;
  std::optional<InstrumentedShaders> shaders_;
  bool packed_ = false;  // CountedByHand
  DeviceBuffer records_;
  VkDeviceSize stride_ = 0;
  test::Pipeline pipeline_;
  VkCommandBuffer commands_ = VK_NULL_HANDLE;
};

// Runs a unit of a plain kernel in each of `rounds` submissions.
void run_plain(test::Context& context, const Capabilities& capabilities, const Kernel& kernel,
               int rounds);

}  // namespace tally::bench
