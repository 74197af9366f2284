#include "counters/performance/intel_performance.h"

#include <atomic>

#include "vk/handle_map.h"

namespace tally::counters {
namespace {

// In the upper bits of every handle, to distinguish it from handles of drivers when debugging.
constexpr uint64_t kHandleTag = uint64_t{0x7a12} << 48;
constexpr uint32_t kStreamMarkerBits = 32;

}  // namespace

VkPerformanceConfigurationINTEL IntelConfigurations::acquire() {
  // Unique across devices, so that a configuration of another device is recognized.
  static std::atomic<uint64_t> next = 1;
  const uint64_t bits = kHandleTag | next.fetch_add(1, std::memory_order_relaxed);
  const std::lock_guard lock(mutex_);
  configurations_.insert(bits);
  return (VkPerformanceConfigurationINTEL)bits;  // NOLINT: a handle is a number
}

bool IntelConfigurations::release(VkPerformanceConfigurationINTEL configuration) {
  const std::lock_guard lock(mutex_);
  return configurations_.erase(vk::handle_bits(configuration)) != 0;
}

bool IntelConfigurations::has(VkPerformanceConfigurationINTEL configuration) const {
  const std::lock_guard lock(mutex_);
  return configurations_.contains(vk::handle_bits(configuration));
}

bool intel_parameter(VkPerformanceParameterTypeINTEL parameter, VkPerformanceValueINTEL& value) {
  switch (parameter) {
    case VK_PERFORMANCE_PARAMETER_TYPE_HW_COUNTERS_SUPPORTED_INTEL:
      value.type = VK_PERFORMANCE_VALUE_TYPE_BOOL_INTEL;
      value.data.valueBool = VK_TRUE;
      return true;
    case VK_PERFORMANCE_PARAMETER_TYPE_STREAM_MARKER_VALID_BITS_INTEL:
      value.type = VK_PERFORMANCE_VALUE_TYPE_UINT32_INTEL;
      value.data.value32 = kStreamMarkerBits;
      return true;
    default:
      return false;
  }
}

}  // namespace tally::counters
