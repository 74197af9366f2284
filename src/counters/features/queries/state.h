// Occlusion queries of the driver, for draws whose samples no shader can count
// (objects/sample_facts.h). Thread-safe.
//
// All queries are reset whenever no command that uses them is pending: a recording resets each
// after it has copied its result.
#pragma once

#include <vulkan/vulkan_core.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "counters/base/device_table.h"
#include "counters/base/physical_device.h"
#include "counters/features/performance/clock.h"
#include "counters/features/performance/intel.h"
#include "counters/features/queries/pool.h"
#include "counters/memory/device_memory.h"
#include "counters/shaders/internal_pipelines.h"
#include "vk/handles.h"

namespace tally::counters {

class OcclusionPool {
 public:
  static constexpr uint32_t kQueries = 256;  // of each VkQueryPool

  OcclusionPool(VkDevice device, const DeviceTable& next, bool precise)
      : device_(device), next_(next), flags_(precise ? VK_QUERY_CONTROL_PRECISE_BIT : 0) {}
  ~OcclusionPool();
  OcclusionPool(const OcclusionPool&) = delete;
  OcclusionPool& operator=(const OcclusionPool&) = delete;

  // For vkCmdBeginQuery.
  VkQueryControlFlags flags() const { return flags_; }
  // A VkQueryPool for one recording.
  VkResult acquire(VkQueryPool& pool);
  // Call where no command that uses it is pending. A recording may have run without its end, so
  // the queries that it used are reset again.
  void release(VkQueryPool pool, uint32_t used);

 private:
  VkDevice device_;
  const DeviceTable& next_;
  VkQueryControlFlags flags_;
  std::mutex mutex_;  // guards what follows
  std::vector<VkQueryPool> all_;
  std::vector<VkQueryPool> free_;
};

// State of a device for which the layer emulates queries.

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
