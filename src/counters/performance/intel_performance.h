// The configurations of VK_INTEL_performance_query that the application has of a device. There is
// one kind, which changes nothing: every queue can count at any time, initialized or not.
//
// Any thread may call.
#pragma once

#include <vulkan/vulkan_core.h>

#include <mutex>
#include <unordered_set>

namespace tally::counters {

class IntelConfigurations {
 public:
  VkPerformanceConfigurationINTEL acquire();
  // False for one that the application does not have.
  bool release(VkPerformanceConfigurationINTEL configuration);
  bool has(VkPerformanceConfigurationINTEL configuration) const;

 private:
  mutable std::mutex mutex_;
  std::unordered_set<uint64_t> configurations_;
};

// vkGetPerformanceParameterINTEL: false for a parameter that does not exist.
bool intel_parameter(VkPerformanceParameterTypeINTEL parameter, VkPerformanceValueINTEL& value);

}  // namespace tally::counters
