// The configurations of VK_INTEL_performance_query that the application has acquired. They have no
// effect: every queue can count at any time, initialized or not. Thread-safe.
#pragma once

#include <vulkan/vulkan_core.h>

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <unordered_set>
#include <vector>

#include "counters/features/performance/counters.h"

namespace tally::counters {

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
