// The counters of VK_KHR_performance_query: which counters of the catalogue a queue family has, how
// each is computed from the rows of an emulated query, and how many passes are needed.
//
// Pass 0 counts. If shaders count and the time is needed too, pass 1 takes the time: in it no
// shader counts.
#pragma once

#include <vulkan/vulkan_core.h>

#include <optional>
#include <span>
#include <vector>

#include "catalogue/catalogue.h"
#include "counters/base/options.h"
#include "counters/base/physical_device.h"
#include "counters/shader/query_source.h"

namespace tally::counters {

struct PerformanceCounter {
  const catalogue::Counter* counter = nullptr;
  VkPerformanceCounterScopeKHR scope = VK_PERFORMANCE_COUNTER_SCOPE_COMMAND_KHR;
  // The value is row * scale, or row * scale / divisor.
  QueryRow row;
  QueryRow divisor;
  float scale = 1;
};

// In the order of enumeration: by scope, with command buffer scope last, and within a scope as in
// the catalogue. Empty for a family that does not exist or does not support compute.
std::vector<PerformanceCounter> performance_counters(const PhysicalDevice& gpu, uint32_t family,
                                                     const Options& options);

// Writes all members but sType and pNext.
void describe(const PerformanceCounter& counter, VkPerformanceCounterKHR& target);
void describe(const PerformanceCounter& counter, VkPerformanceCounterDescriptionKHR& target);

// The counters of a pool's queries.
struct PerformanceQuery {
  std::vector<QueryRow> rows;        // without duplicates
  std::vector<QueryResult> results;  // one for each index, in order
  uint32_t passes = 1;
  bool counts_in_shaders = false;

  // With counters of the driver in the same pool: the layer takes the time in a pass of the driver.
  uint32_t passes_with(uint32_t drivers) const {
    return drivers == 0 ? passes : drivers + (counts_in_shaders ? 1 : 0);
  }

  uint32_t count_pass() const { return 0; }
  uint32_t time_pass() const { return passes - 1; }
};
// Nothing if an index is out of range.
std::optional<PerformanceQuery> plan_performance_query(std::span<const PerformanceCounter> counters,
                                                       std::span<const uint32_t> indices);

}  // namespace tally::counters
