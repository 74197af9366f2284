#include "counters/performance/driver_counters.h"

#include <algorithm>

namespace tally::counters {

CounterSplit::CounterSplit(const PhysicalDevice& gpu,
                           const VkQueryPoolPerformanceCreateInfoKHR& info)
    : family(info.queueFamilyIndex) {
  const uint32_t first_of_ours = gpu.driver_counters_of(family);
  for (const uint32_t index : std::span(info.pCounterIndices, info.counterIndexCount)) {
    const bool drivers_own = index < first_of_ours;
    is_drivers.push_back(drivers_own);
    if (drivers_own) {
      drivers.push_back(index);
    } else {
      ours.push_back(index - first_of_ours);
    }
  }
}

VkQueryPoolPerformanceCreateInfoKHR CounterSplit::drivers_info() const {
  return {.sType = VK_STRUCTURE_TYPE_QUERY_POOL_PERFORMANCE_CREATE_INFO_KHR,
          .queueFamilyIndex = family,
          .counterIndexCount = static_cast<uint32_t>(drivers.size()),
          .pCounterIndices = drivers.data()};
}

uint32_t driver_passes(const InstanceTable& next, const PhysicalDevice& gpu,
                       const CounterSplit& split) {
  if (split.drivers.empty()) return 0;
  uint32_t passes = 0;
  const VkQueryPoolPerformanceCreateInfoKHR info = split.drivers_info();
  next.GetPhysicalDeviceQueueFamilyPerformanceQueryPassesKHR(gpu.handle, &info, &passes);
  return std::max(1u, passes);
}

DriverNeeds driver_needs(const InstanceTable& next, const PhysicalDevice& gpu,
                         const CounterSplit& split, bool counts_in_shaders) {
  uint32_t count = gpu.driver_counters_of(split.family);
  std::vector<VkPerformanceCounterKHR> counters(
      count, {.sType = VK_STRUCTURE_TYPE_PERFORMANCE_COUNTER_KHR});
  next.EnumeratePhysicalDeviceQueueFamilyPerformanceQueryCountersKHR(
      gpu.handle, split.family, &count, counters.data(), nullptr);
  const bool whole_buffer = std::ranges::any_of(split.drivers, [&](uint32_t index) {
    return counters[index].scope == VK_PERFORMANCE_COUNTER_SCOPE_COMMAND_BUFFER_KHR;
  });
  return {driver_passes(next, gpu, split), whole_buffer, counts_in_shaders};
}

DriverPool::DriverPool(VkDevice device, const DeviceTable& next, CounterSplit split,
                       DriverNeeds needs)
    : device_(device), next_(next), split_(std::move(split)), needs_(needs) {}

DriverPool::~DriverPool() {
  if (handle_ != VK_NULL_HANDLE) next_.DestroyQueryPool(device_, handle_, nullptr);
}

VkResult DriverPool::initialize(uint32_t queries, VkQueryPoolCreateFlags flags) {
  submissions_.resize(queries);
  const VkQueryPoolPerformanceCreateInfoKHR counters = split_.drivers_info();
  const VkQueryPoolCreateInfo info{.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
                                   .pNext = &counters,
                                   .flags = flags,
                                   .queryType = VK_QUERY_TYPE_PERFORMANCE_QUERY_KHR,
                                   .queryCount = queries};
  return next_.CreateQueryPool(device_, &info, nullptr, &handle_);
}

void DriverPool::restart(uint32_t first, uint32_t queries) {
  const std::lock_guard lock(mutex_);
  std::fill_n(submissions_.begin() + first, queries, 0);
}

MixedPass DriverPool::next_pass(uint32_t query) {
  const std::lock_guard lock(mutex_);
  const uint32_t pass = std::min(submissions_[query]++, passes() - 1);
  return {pass, needs_.counts_apart && pass != 0 ? pass - 1 : pass};
}

void DriverPool::reset(uint32_t first, uint32_t queries) {
  restart(first, queries);
  if (next_.ResetQueryPool) next_.ResetQueryPool(device_, handle_, first, queries);
}

uint32_t DriverPool::result_bytes() const {
  return static_cast<uint32_t>(split_.is_drivers.size() * sizeof(Value));
}

uint32_t DriverPool::drivers_bytes() const {
  return static_cast<uint32_t>(split_.drivers.size() * sizeof(Value));
}

VkResult DriverPool::results(uint32_t query, std::span<const Value> ours, VkQueryResultFlags flags,
                             std::span<Value> all) {
  {
    const std::lock_guard lock(mutex_);
    if (submissions_[query] < passes()) return VK_NOT_READY;
  }
  std::vector<Value> drivers(split_.drivers.size());
  const size_t bytes = drivers.size() * sizeof(Value);
  const VkResult result =
      next_.GetQueryPoolResults(device_, handle_, query, 1, bytes, drivers.data(), bytes, flags);
  if (result != VK_SUCCESS) return result;
  size_t of_drivers = 0, of_ours = 0;
  for (size_t i = 0; i < all.size(); ++i) {
    all[i] = split_.is_drivers[i] ? drivers[of_drivers++] : ours[of_ours++];
  }
  return VK_SUCCESS;
}

std::vector<DriverPool::Run> DriverPool::runs() const {
  std::vector<Run> runs;
  VkDeviceSize of_drivers = 0, of_ours = 0;
  for (size_t i = 0; i < split_.is_drivers.size(); ++i) {
    const bool drivers = split_.is_drivers[i];
    VkDeviceSize& source = drivers ? of_drivers : of_ours;
    if (runs.empty() || runs.back().is_drivers != drivers) {
      runs.push_back({drivers, {source, i * sizeof(Value), 0}});
    }
    runs.back().copy.size += sizeof(Value);
    source += sizeof(Value);
  }
  return runs;
}

}  // namespace tally::counters
