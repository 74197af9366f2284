// The state of a command buffer: what is bound, and the features that are told of each command.
//
// The order of the features is instrumentation, regions, queries, from the outermost to the
// innermost: the members are declared in this order, and ActionRecorder and CommandBuffer call them
// in it. A feature does not know the others. Calls are static.
#pragma once

#include <vulkan/vulkan_core.h>

#include <memory>

#include "counters/features/instrumentation/recorder.h"
#include "counters/features/queries/driver_queries.h"
#include "counters/features/queries/recorder.h"
#include "counters/features/regions/recorder.h"
#include "counters/recording/bound_state.h"
#include "counters/recording/device_state.h"

namespace tally::counters {

struct CommandState {
  CommandState(VkCommandBuffer command_buffer, DeviceState& device_state);
  CommandState(const CommandState&) = delete;
  CommandState& operator=(const CommandState&) = delete;

  void reset();

  VkCommandBuffer handle;
  DeviceState& device;
  const DeviceTable& next;
  RecordingStatus status;
  BoundState bound;

  InstrumentationRecorder instrumentation;
  std::unique_ptr<RegionRecorder> regions;  // null where counters by region are not enabled
  std::unique_ptr<QueryRecorder> queries;   // null where no query is emulated
  // Null where no query pool can have counters of the driver.
  std::unique_ptr<DriverQueries> driver_queries;
};

}  // namespace tally::counters
