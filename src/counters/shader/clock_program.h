// The compute pipeline that writes timestamps where the driver has none
// (glsl/query_timestamp.comp). Created with the device.
#pragma once

#include "counters/shader/internal_pipelines.h"
#include "probe/query.h"

namespace tally::counters {

// Timestamp units per tick of the shader clock.
struct ClockScale {
  uint32_t whole = 1;
  uint32_t fraction = 0;  // of 2^32
};

// How a timestamp is computed from the clock.
struct ClockReading {
  ClockScale scale;
  uint64_t start = 0;          // the timestamp when the clock is 0
  VkDeviceAddress lately = 0;  // for a 32-bit clock: see CoarseTime
};

class ClockProgram {
 public:
  ClockProgram(VkDevice device, const DeviceTable& next, const PushOffsets& offsets)
      : next_(next), programs_(device, next, offsets) {}
  ~ClockProgram() { programs_.destroy(pipeline_); }
  ClockProgram(const ClockProgram&) = delete;
  ClockProgram& operator=(const ClockProgram&) = delete;

  // Replaces a pipeline that was created for another reading.
  VkResult make(const ClockReading& reading);
  // Writes the timestamp that the probe::QueryTimestamp at the address describes.
  void write(const InternalCommands& commands, VkDeviceAddress parameters) const;

 private:
  const DeviceTable& next_;
  InternalPipelines programs_;
  InternalPipeline pipeline_;
};

}  // namespace tally::counters
