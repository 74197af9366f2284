// Timestamps of devices whose driver has none: a shader reads the device's clock
// (VK_KHR_shader_clock). Nobody says what unit that clock has, but a timestamp must be in units of
// timestampPeriod: so it is measured against the host's clock, once in a process for a device,
// before the application has its queues.
#pragma once

#include <vulkan/vulkan_core.h>

#include "counters/memory/context.h"
#include "counters/shader/clock_program.h"
#include "counters/state/physical_device.h"

namespace tally::counters {

// Nanoseconds of a timestamp's unit on a device where the layer makes the timestamps.
float timestamp_period(const PhysicalDevice& gpu);

// Bits of the clock. lavapipe gives no upper half.
uint32_t timestamp_bits(const PhysicalDevice& gpu);

// A scale from what passed in ticks and, give or take `doubt`, in units; 1 where that cannot be
// told from it, or where they say nothing.
ClockScale clock_scale(uint64_t ticks, double units, double doubt);

class DeviceClock {
 public:
  DeviceClock(const MemoryContext& context, uint32_t push_offset)
      : context_(context), program_(context.device, *context.next, push_offset) {}

  // `family`: of a queue that computes, of which nobody else has the queues yet.
  VkResult prepare(const PhysicalDevice& gpu, uint32_t family);
  const ClockProgram& program() const { return program_; }

 private:
  VkResult measure(const PhysicalDevice& gpu, uint32_t family, ClockScale& scale);

  const MemoryContext& context_;
  ClockProgram program_;
};

}  // namespace tally::counters
