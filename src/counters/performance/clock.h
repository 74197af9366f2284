// Timestamps of devices whose driver has none: a shader reads the device's clock
// (VK_KHR_shader_clock). Nobody says what unit that clock has, but a timestamp must be in units of
// timestampPeriod: so it is measured against the host's clock, once in a process for a device,
// before the application has its queues. Where the application can calibrate timestamps, those of
// the device's time domain are the same clock: they begin where the driver's do.
#pragma once

#include <vulkan/vulkan_core.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

#include "counters/layer/physical_device.h"
#include "counters/memory/chunk.h"
#include "counters/memory/context.h"
#include "counters/shader/clock_program.h"

namespace tally::counters {

// Nanoseconds of a timestamp's unit on a device where the layer makes the timestamps.
float timestamp_period(const PhysicalDevice& gpu);

// Of the timestamps that the layer makes.
uint32_t timestamp_bits(const PhysicalDevice& gpu);

// A scale from what passed in ticks and, give or take `doubt`, in units; 1 where that cannot be
// told from it, or where they say nothing.
ClockScale clock_scale(uint64_t ticks, double units, double doubt);

// For a clock in shaders that has the lower 32 bits of the host's monotonic clock, in nanoseconds:
// a thread tells the GPU twice a second what time it is there, in units of 2^28 ns. That is enough
// to know the other bits, unless the thread is kept from running for more than 3 seconds.
class CoarseTime {
 public:
  ~CoarseTime();
  VkResult start(const MemoryContext& context);
  VkDeviceAddress address() const { return memory_ ? memory_->address() : 0; }

 private:
  void tell() const;
  void run();

  std::unique_ptr<Chunk> memory_;
  std::mutex mutex_;
  std::condition_variable stop_;
  bool stopped_ = false;
  std::thread thread_;
};

class DeviceClock {
 public:
  DeviceClock(const MemoryContext& context, uint32_t push_offset)
      : context_(context), program_(context.device, *context.next, push_offset) {}

  // `family`: of a queue that computes, of which nobody else has the queues yet. `calibrate`: null
  // where the application cannot.
  VkResult prepare(const PhysicalDevice& gpu, uint32_t family,
                   PFN_vkGetCalibratedTimestampsEXT calibrate);
  const ClockProgram& program() const { return program_; }

 private:
  VkResult find_scale(const PhysicalDevice& gpu, uint32_t family, ClockReading& reading);
  VkResult find_start(uint32_t family, PFN_vkGetCalibratedTimestampsEXT calibrate,
                      ClockReading& reading);

  const MemoryContext& context_;
  CoarseTime coarse_time_;
  ClockProgram program_;
};

}  // namespace tally::counters
