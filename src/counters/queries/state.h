// State of a device for which the layer emulates queries.
#pragma once

#include <vulkan/vulkan_core.h>

#include <atomic>
#include <memory>

#include "counters/base/device_context.h"
#include "counters/memory/device_memory.h"
#include "counters/performance/clock.h"
#include "counters/performance/intel_performance.h"
#include "counters/queries/occlusion_pool.h"
#include "counters/queries/pool.h"
#include "counters/queries/types.h"
#include "counters/shader/query_programs.h"
#include "vk/handle_map.h"

namespace tally::counters {

struct QueryState {
  QueryState(const DeviceContext& device_context, DeviceMemory& device_memory,
             const PushOffsets& offsets, const EmulatedQueries& emulated_types)
      : device(device_context),
        memory(device_memory),
        emulated(emulated_types),
        programs(device.handle, device.next, offsets, device.gpu.subgroup_size) {}

  const DeviceContext& device;
  DeviceMemory& memory;
  const EmulatedQueries emulated;
  QueryPrograms programs;
  // Null where occlusion queries are not emulated, or the driver lacks hostQueryReset.
  std::unique_ptr<OcclusionPool> occlusion;
  // Null where the driver has timestamps.
  std::unique_ptr<DeviceClock> clock;
  // Sizes of buffers that may be bound as index or transform feedback buffers without a size.
  vk::HandleMap<VkBuffer, VkDeviceSize> buffer_sizes;
  // Set with the first pool of transform feedback queries: the layer then counts transform
  // feedback.
  std::atomic<bool> counts_feedback = false;
  vk::HandleMap<VkQueryPool, std::shared_ptr<QueryPool>> pools;
  // Pools of the driver that have only performance counters of the driver.
  vk::HandleMap<VkQueryPool, bool> driver_pools;
  // Pools of the driver whose statistics include compute shader invocations.
  vk::HandleMap<VkQueryPool, bool> driver_statistics;
  IntelConfigurations intel_configurations;
};

}  // namespace tally::counters
