// Timestamps for devices whose driver has none: a shader reads the device clock
// (VK_KHR_shader_clock). The unit of that clock is unspecified, but a timestamp must be in units of
// timestampPeriod. So the layer measures it against the host clock, once per device and process,
// before the application gets its queues. Where the application can calibrate timestamps, the
// layer's timestamps have the same origin as the device time domain.
#pragma once

#include <vulkan/vulkan_core.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

#include "counters/base/physical_device.h"
#include "counters/memory/chunk.h"
#include "counters/shaders/internal_objects.h"

namespace tally::counters {

// timestampPeriod of a device where the layer emulates timestamps.
float timestamp_period(const PhysicalDevice& gpu);

// timestampValidBits of emulated timestamps.
uint32_t timestamp_bits(const PhysicalDevice& gpu);

// The scale from ticks to units, measured with an error of up to `error` units. 1 if it does not
// differ from 1 by more than the error, or if nothing was measured.
ClockScale clock_scale(uint64_t ticks, double units, double error);

// For drivers whose shader clock is the lower 32 bits of the host's monotonic clock in nanoseconds.
// A thread writes the time in units of 2^28 ns for the GPU, twice a second. That determines the
// upper bits, unless the thread cannot run for more than 3 seconds.
class CoarseTime {
 public:
  ~CoarseTime();
  VkResult start(const MemoryContext& context);
  VkDeviceAddress address() const { return memory_ ? memory_->address() : 0; }

 private:
  void write_time() const;
  void run();

  std::unique_ptr<Chunk> memory_;
  std::mutex mutex_;
  std::condition_variable stop_;
  bool stopped_ = false;
  std::thread thread_;
};

class DeviceClock {
 public:
  DeviceClock(const MemoryContext& context, const PushOffsets& offsets)
      : context_(context), program_(context.device, *context.next, offsets) {}

  // `queue`: computes, and nothing else uses it yet. `calibrate`: null if the application
  // did not enable calibrated timestamps.
  VkResult prepare(const PhysicalDevice& gpu, const QueuePlace& queue,
                   PFN_vkGetCalibratedTimestampsEXT calibrate);
  const ClockProgram& program() const { return program_; }

 private:
  VkResult find_scale(const PhysicalDevice& gpu, const QueuePlace& queue, ClockReading& reading);
  VkResult find_start(const QueuePlace& queue, PFN_vkGetCalibratedTimestampsEXT calibrate,
                      ClockReading& reading);

  const MemoryContext& context_;
  CoarseTime coarse_time_;
  ClockProgram program_;
};

}  // namespace tally::counters
