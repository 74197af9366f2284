// The configurations of VK_INTEL_performance_query that the application has acquired. They have no
// effect: every queue can count at any time, initialized or not. Thread-safe.
#pragma once

#include <vulkan/vulkan_core.h>

#include <mutex>
#include <unordered_set>

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

}  // namespace tally::counters
