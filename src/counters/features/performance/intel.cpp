#include "counters/features/performance/intel.h"

#include <tally/intel_report.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "vk/handles.h"

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

namespace {

template <typename T>
void put(std::byte*& at, T value) {
  std::memcpy(at, &value, sizeof value);
  at += sizeof value;
}

bool fits_report(const PerformanceCounter& counter) {
  return counter.scope != VK_PERFORMANCE_COUNTER_SCOPE_COMMAND_BUFFER_KHR &&
         counter.divisor.empty() && counter.counter->storage != catalogue::Storage::Float32 &&
         counter.counter->storage != catalogue::Storage::Float64;
}

// The family with the most counters.
uint32_t widest_family(const PhysicalDevice& gpu) {
  const auto found = std::ranges::find_if(gpu.queue_families, [](const auto& family) {
    constexpr VkQueueFlags kWanted = VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT;
    return (family.queueFlags & kWanted) == kWanted;
  });
  return found == gpu.queue_families.end()
             ? 0
             : static_cast<uint32_t>(found - gpu.queue_families.begin());
}

}  // namespace

bool write_intel_report(const IntelReport& report, std::span<std::byte> target) {
  constexpr size_t kHeader = TALLY_INTEL_REPORT_HEADER_BYTES;
  constexpr size_t kValue = TALLY_INTEL_REPORT_VALUE_BYTES;
  if (target.size() < kHeader) return false;
  const size_t count = std::min(report.values.size(), (target.size() - kHeader) / kValue);
  std::byte* at = target.data();
  put(at, uint32_t{TALLY_INTEL_REPORT_MAGIC});
  put(at, uint16_t{TALLY_INTEL_REPORT_VERSION});
  put(at, static_cast<uint16_t>(kHeader));
  put(at, static_cast<uint32_t>(kHeader + count * kValue));
  put(at, static_cast<uint32_t>(count));
  put(at, static_cast<uint32_t>(report.values.size()));
  put(at, (report.marker ? TALLY_INTEL_REPORT_HAS_MARKER : 0) |
              (report.stream_marker ? TALLY_INTEL_REPORT_HAS_STREAM_MARKER : 0));
  put(at, report.marker.value_or(0));
  put(at, report.stream_marker.value_or(0));
  put(at, report.uncounted_commands);
  for (size_t i = 0; i < count; ++i) {
    put(at, report.values[i].counter);
    put(at, uint32_t{0});
    put(at, report.values[i].value);
  }
  return true;
}

std::vector<PerformanceCounter> intel_counters(const PhysicalDevice& gpu, const Options& options) {
  std::vector<PerformanceCounter> counters = performance_counters(gpu, widest_family(gpu), options);
  std::erase_if(counters, [](const PerformanceCounter& one) { return !fits_report(one); });
  std::stable_partition(counters.begin(), counters.end(), [](const PerformanceCounter& one) {
    return !spirv::cost_class_of(one.counter->number);
  });
  return counters;
}

}  // namespace tally::counters
