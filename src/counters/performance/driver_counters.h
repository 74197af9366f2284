// The driver's own counters of VK_KHR_performance_query. They come first in the enumeration, under
// the driver's indices; the layer's follow. A query pool of both kinds is the layer's, with a pool
// of the driver's beside it for the driver's counters.
//
// Its passes: the driver's, in which no shader counts; and where shaders must count, one before
// them, of which the driver's results are dropped. A query makes its passes in this order, whatever
// the order in which the application submits its indices: every submission makes the next.
#pragma once

#include <vulkan/vulkan_core.h>

#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "counters/layer/device_table.h"
#include "counters/layer/physical_device.h"

namespace tally::counters {

// The counters of a query pool, by whose they are.
struct CounterSplit {
  CounterSplit(const PhysicalDevice& gpu, const VkQueryPoolPerformanceCreateInfoKHR& info);

  uint32_t family;
  std::vector<uint32_t> drivers;  // indices of the driver's
  std::vector<uint32_t> ours;     // indices among the layer's
  std::vector<bool> is_drivers;   // of each of the application's indices

  VkQueryPoolPerformanceCreateInfoKHR drivers_info() const;
};

// How many passes the driver needs for its counters.
uint32_t driver_passes(const InstanceTable& next, const PhysicalDevice& gpu,
                       const CounterSplit& split);

// A query pool with counters of both.
struct DriverNeeds {
  uint32_t passes = 1;
  bool whole_buffer = false;  // the query is all of its command buffer
  bool counts_apart = false;  // shaders count, in a pass of their own
};
DriverNeeds driver_needs(const InstanceTable& next, const PhysicalDevice& gpu,
                         const CounterSplit& split, bool counts_in_shaders);

// Which pass a submission makes: for the layer, and the index that the driver is given.
struct MixedPass {
  uint32_t ours = 0;
  uint32_t drivers = 0;
};

// The driver's half of a query pool with counters of both.
class DriverPool {
 public:
  DriverPool(VkDevice device, const DeviceTable& next, CounterSplit split, DriverNeeds needs);
  ~DriverPool();
  DriverPool(const DriverPool&) = delete;
  DriverPool& operator=(const DriverPool&) = delete;
  VkResult initialize(uint32_t queries);

  VkQueryPool handle() const { return handle_; }
  uint32_t family() const { return split_.family; }
  const DriverNeeds& needs() const { return needs_; }
  uint32_t passes() const { return needs_.passes + (needs_.counts_apart ? 1 : 0); }

  // The queries begin with their first pass again.
  void forget(uint32_t first, uint32_t queries);
  // A submission of the query.
  MixedPass next_pass(uint32_t query);

  void reset(uint32_t first, uint32_t queries);

  // Results of one query as the application has asked for them, from the layer's. Nothing is asked
  // of the driver before all passes have been submitted.
  using Value = VkPerformanceCounterResultKHR;
  uint32_t result_bytes() const;
  VkResult results(uint32_t query, std::span<const Value> ours, VkQueryResultFlags flags,
                   std::span<Value> all);
  // Where consecutive results come from: offsets from those of either half of one query.
  struct Run {
    bool is_drivers;
    VkBufferCopy copy;
  };
  std::vector<Run> runs() const;
  uint32_t drivers_bytes() const;

 private:
  VkDevice device_;
  const DeviceTable& next_;
  CounterSplit split_;
  DriverNeeds needs_;
  VkQueryPool handle_ = VK_NULL_HANDLE;
  std::mutex mutex_;
  std::vector<uint32_t> submissions_;  // of each query, since its reset
};

}  // namespace tally::counters
