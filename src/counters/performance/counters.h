// The counters of VK_KHR_performance_query: which of the catalogue's a queue family has, how each
// is made from the rows of an emulated query, and in how many passes.
//
// Pass 0 has the counts. Where shaders must count and time is wanted too, the time comes from pass
// 1, in which no shader counts.
#pragma once

#include <vulkan/vulkan_core.h>

#include <optional>
#include <span>
#include <vector>

#include "catalogue/catalogue.h"
#include "counters/layer/options.h"
#include "counters/layer/physical_device.h"
#include "counters/queries/source.h"

namespace tally::counters {

struct PerformanceCounter {
  const catalogue::Counter* counter = nullptr;
  VkPerformanceCounterScopeKHR scope = VK_PERFORMANCE_COUNTER_SCOPE_COMMAND_KHR;
  // The value is row * scale, or row * scale / divisor.
  QueryRow row;
  QueryRow divisor;
  float scale = 1;
};

// In the order of enumeration: by scope, those of command buffers last; within one as in the
// catalogue. Nothing for a family that does not exist or cannot compute.
std::vector<PerformanceCounter> performance_counters(const PhysicalDevice& gpu, uint32_t family,
                                                     const Options& options);

// All but sType and pNext, which are the application's.
void describe(const PerformanceCounter& counter, VkPerformanceCounterKHR& target);
void describe(const PerformanceCounter& counter, VkPerformanceCounterDescriptionKHR& target);

// A query pool of some of the counters.
struct PerformanceQuery {
  std::vector<QueryRow> rows;        // each once
  std::vector<QueryResult> results;  // one for each index, in their order
  uint32_t passes = 1;
  bool counts_in_shaders = false;

  // With the driver's counters in the same pool: the layer's time is taken in one of its passes.
  uint32_t passes_with(uint32_t drivers) const {
    return drivers == 0 ? passes : drivers + (counts_in_shaders ? 1 : 0);
  }

  uint32_t count_pass() const { return 0; }
  uint32_t time_pass() const { return passes - 1; }
};
// Nothing where an index is out of range.
std::optional<PerformanceQuery> plan_performance_query(std::span<const PerformanceCounter> counters,
                                                       std::span<const uint32_t> indices);

}  // namespace tally::counters
