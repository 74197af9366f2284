// The compute program that writes a timestamp where the driver has none
// (glsl/query_timestamp.comp): made once, when the device is.
#pragma once

#include "counters/shader/internal_pipelines.h"
#include "probe/query.h"

namespace tally::counters {

// What a tick of a shader's clock is of a timestamp's unit.
struct ClockScale {
  uint32_t whole = 1;
  uint32_t fraction = 0;  // of 2^32
};

// How a timestamp is made of the clock.
struct ClockReading {
  ClockScale scale;
  uint64_t start = 0;          // the timestamp at which the clock is 0
  VkDeviceAddress lately = 0;  // of a clock of 32 bits: see CoarseTime
};

class ClockProgram {
 public:
  ClockProgram(VkDevice device, const DeviceTable& next, uint32_t push_offset)
      : next_(next), programs_(device, next, push_offset) {}
  ~ClockProgram() { programs_.destroy(pipeline_); }
  ClockProgram(const ClockProgram&) = delete;
  ClockProgram& operator=(const ClockProgram&) = delete;

  // Anew, where it was made for another reading.
  VkResult make(const ClockReading& reading);
  // What a probe::QueryTimestamp at the address says.
  void write(VkCommandBuffer commands, VkDeviceAddress parameters) const;

 private:
  const DeviceTable& next_;
  InternalPipelines programs_;
  VkPipeline pipeline_ = VK_NULL_HANDLE;
};

}  // namespace tally::counters
