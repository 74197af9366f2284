// The driver's counters of VK_KHR_performance_query. They are enumerated first, with the driver's
// indices, and the layer's counters follow. A query pool with counters of both is an emulated pool,
// with a second pool of the driver for the driver's counters.
//
// The query has the driver's passes, in which no shader counts. If shaders must count, one pass
// comes before them, and the driver's results of that pass are discarded. Every submission makes
// the next pass in this order, whatever pass index the application submits.
#pragma once

#include <vulkan/vulkan_core.h>

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <unordered_set>
#include <vector>

#include "catalogue/catalogue.h"
#include "counters/base/device_table.h"
#include "counters/base/options.h"
#include "counters/base/physical_device.h"
#include "counters/shaders/program.h"

namespace tally::counters {

// The counters of a query pool, split by owner.
struct CounterSplit {
  CounterSplit(const PhysicalDevice& gpu, const VkQueryPoolPerformanceCreateInfoKHR& info);

  uint32_t family;
  std::vector<uint32_t> drivers;  // indices of the driver's counters
  std::vector<uint32_t> ours;     // indices among the layer's counters
  std::vector<bool> is_drivers;   // for each of the application's indices

  VkQueryPoolPerformanceCreateInfoKHR drivers_info() const;
};

// The number of passes that the driver needs for its counters.
uint32_t driver_passes(const InstanceTable& next, const PhysicalDevice& gpu,
                       const CounterSplit& split);

// The requirements of a pool with counters of both.
struct DriverNeeds {
  uint32_t passes = 1;
  bool whole_buffer = false;  // the query must contain the whole command buffer
  bool counts_apart = false;  // shaders count, in an additional pass
};
DriverNeeds driver_needs(const InstanceTable& next, const PhysicalDevice& gpu,
                         const CounterSplit& split, bool counts_in_shaders);

// The pass that a submission makes: the layer's index, and the driver's.
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
  VkResult initialize(uint32_t queries, VkQueryPoolCreateFlags flags);

  VkQueryPool handle() const { return handle_; }
  uint32_t family() const { return split_.family; }
  const DriverNeeds& needs() const { return needs_; }
  uint32_t passes() const { return needs_.passes + (needs_.counts_apart ? 1 : 0); }

  // The next submission of each query is its first pass again.
  void restart(uint32_t first, uint32_t queries);
  // Call for each submission of the query.
  MixedPass next_pass(uint32_t query);

  void reset(uint32_t first, uint32_t queries);

  // Merges the layer's results of one query with the driver's, in the order of the application's
  // indices. The driver's results are read when all passes have been submitted.
  using Value = VkPerformanceCounterResultKHR;
  uint32_t result_bytes() const;
  VkResult results(uint32_t query, std::span<const Value> ours, VkQueryResultFlags flags,
                   std::span<Value> all);
  // Consecutive results with the same owner, as copies from the results of that owner.
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
  std::vector<uint32_t> submissions_;  // of each query since its reset
};

// The counters of VK_KHR_performance_query: which counters of the catalogue a queue family has, how
// each is computed from the rows of an emulated query, and how many passes are needed.
//
// Pass 0 counts. If shaders count and the time is needed too, pass 1 takes the time: in it no
// shader counts.

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

// The configurations of VK_INTEL_performance_query that the application has acquired. They have no
// effect: every queue can count at any time, initialized or not. Thread-safe.

class IntelConfigurations {
 public:
  VkPerformanceConfigurationINTEL acquire();
  // False for a configuration that was not acquired.
  bool release(VkPerformanceConfigurationINTEL configuration);
  bool has(VkPerformanceConfigurationINTEL configuration) const;

 private:
  mutable std::mutex mutex_;
  std::unordered_set<uint64_t> configurations_;
};

// vkGetPerformanceParameterINTEL. False for an unknown parameter.
bool intel_parameter(VkPerformanceParameterTypeINTEL parameter, VkPerformanceValueINTEL& value);

// Writes the results of VK_INTEL_performance_query as the report that include/tally/intel_report.h
// describes and reads.

struct IntelValue {
  uint32_t counter = 0;  // its number in the catalogue
  uint64_t value = 0;
};

struct IntelReport {
  std::optional<uint64_t> marker;
  std::optional<uint32_t> stream_marker;
  uint32_t uncounted_commands = 0;
  std::vector<IntelValue> values;
};

// Writes as many values as fit. False if the header does not fit; then nothing is written.
bool write_intel_report(const IntelReport& report, std::span<std::byte> target);

// The counters of a device's reports: all integer counters that do not need a whole command buffer.
// Counters of commands and invocations come before those of instructions, so that short reports
// have them.
std::vector<PerformanceCounter> intel_counters(const PhysicalDevice& gpu, const Options& options);

}  // namespace tally::counters
