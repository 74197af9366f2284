#include "counters/recording/command_state.h"

namespace tally::counters {

CommandState::CommandState(VkCommandBuffer command_buffer, DeviceState& device_state)
    : handle(command_buffer),
      device(device_state),
      next(device.context.next),
      bound(handle, device.objects, status),
      instrumentation(device.instrumentation.shards) {
  if (device.regions)
    regions = std::make_unique<RegionRecorder>(*device.regions, handle, bound.uses_heaps());
  if (!device.queries) return;
  queries = std::make_unique<QueryRecorder>(*device.queries, handle, bound.uses_heaps());
  if (device.context.gpu.native_performance_queries) {
    driver_queries = std::make_unique<DriverQueries>(device.context, handle);
  }
}

void CommandState::reset() {
  status = {};
  bound.reset();
  instrumentation.reset();
  if (regions) regions->reset();
  if (queries) queries->reset();
  if (driver_queries) driver_queries->reset();
}

}  // namespace tally::counters
