// What exists of a device where queries are emulated.
#pragma once

#include <vulkan/vulkan_core.h>

#include <atomic>
#include <memory>

#include "counters/performance/clock.h"
#include "counters/performance/intel_performance.h"
#include "counters/queries/pool.h"
#include "counters/queries/types.h"
#include "counters/shader/query_programs.h"
#include "vk/handle_map.h"

namespace tally::counters {

struct QueryState {
  QueryState(VkDevice device, const DeviceTable& next, uint32_t push_offset, uint32_t subgroup_size,
             const EmulatedQueries& emulated_types)
      : emulated(emulated_types), programs(device, next, push_offset, subgroup_size) {}

  const EmulatedQueries emulated;
  QueryPrograms programs;
  // Null where the timestamps are the driver's.
  std::unique_ptr<DeviceClock> clock;
  // Of buffers that are bound as indices or for transform feedback, perhaps without a size.
  vk::HandleMap<VkBuffer, VkDeviceSize> buffer_sizes;
  // Some query wants to know of transform feedback: from then on it is counted.
  std::atomic<bool> counts_feedback = false;
  vk::HandleMap<VkQueryPool, std::shared_ptr<QueryPool>> pools;
  vk::HandleMap<VkQueryPool, bool> driver_pools;  // of the driver's performance counters alone
  // Of the driver's statistics, among them compute shader invocations.
  vk::HandleMap<VkQueryPool, bool> driver_statistics;
  IntelConfigurations intel_configurations;
};

}  // namespace tally::counters
