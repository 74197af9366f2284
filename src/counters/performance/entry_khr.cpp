// VK_KHR_performance_query: its counters, passes and profiling lock. Query pools are in
// queries/entry.cpp.
#include <fmt/format.h>

#include "counters/layer/entry_points.h"
#include "counters/performance/counters.h"
#include "counters/performance/driver_counters.h"
#include "vk/boundary.h"

namespace tally::counters {
namespace {

std::vector<PerformanceCounter> counters_of(Instance& instance, VkPhysicalDevice handle,
                                            uint32_t family) {
  const PhysicalDevice& gpu = instance.physical_device(handle);
  if (!gpu.offers_performance_queries()) return {};
  return performance_counters(gpu, family, instance.options());
}

VkResult write_counters(const std::vector<PerformanceCounter>& all, uint32_t* count,
                        VkPerformanceCounterKHR* counters,
                        VkPerformanceCounterDescriptionKHR* descriptions) {
  const auto available = static_cast<uint32_t>(all.size());
  const bool wanted = counters || descriptions;
  const uint32_t written = wanted ? std::min(*count, available) : 0;
  for (uint32_t i = 0; i < written; ++i) {
    if (counters) describe(all[i], counters[i]);
    if (descriptions) describe(all[i], descriptions[i]);
  }
  *count = wanted ? written : available;
  return wanted && written < available ? VK_INCOMPLETE : VK_SUCCESS;
}

// The driver's counters, then the layer's.
VkResult enumerate(VkPhysicalDevice handle, uint32_t family, uint32_t* count,
                   VkPerformanceCounterKHR* counters,
                   VkPerformanceCounterDescriptionKHR* descriptions) {
  Instance& instance = *find_instance(handle);
  const uint32_t of_driver = instance.physical_device(handle).driver_counters_of(family);
  const bool wanted = counters || descriptions;
  uint32_t first = wanted ? std::min(*count, of_driver) : of_driver;
  if (wanted && first != 0) {
    const VkResult result =
        instance.next().EnumeratePhysicalDeviceQueueFamilyPerformanceQueryCountersKHR(
            handle, family, &first, counters, descriptions);
    if (result < 0 || first < of_driver) {
      *count = first;
      return result < 0 ? result : VK_INCOMPLETE;
    }
  }
  uint32_t rest = wanted ? *count - first : 0;
  const VkResult result = write_counters(counters_of(instance, handle, family), &rest,
                                         counters ? counters + first : nullptr,
                                         descriptions ? descriptions + first : nullptr);
  *count = first + rest;
  return result;
}

void get_passes(VkPhysicalDevice handle, const VkQueryPoolPerformanceCreateInfoKHR& info,
                uint32_t* passes) {
  Instance& instance = *find_instance(handle);
  const PhysicalDevice& gpu = instance.physical_device(handle);
  const CounterSplit split(gpu, info);
  const uint32_t of_driver = driver_passes(instance.next(), gpu, split);
  *passes = of_driver;
  if (split.ours.empty() && of_driver != 0) return;
  const auto query =
      plan_performance_query(counters_of(instance, handle, info.queueFamilyIndex), split.ours);
  *passes = query ? query->passes_with(of_driver) : 0;
  if (query) return;
  instance.messages().misuse(
      "VUID-VkQueryPoolPerformanceCreateInfoKHR-pCounterIndices-03321",
      VK_OBJECT_TYPE_PHYSICAL_DEVICE, vk::handle_bits(handle),
      fmt::format("vkGetPhysicalDeviceQueueFamilyPerformanceQueryPassesKHR(): an index is not one "
                  "of a counter of queue family {}",
                  info.queueFamilyIndex));
}

VKAPI_ATTR VkResult VKAPI_CALL hook_acquire_lock(VkDevice handle,
                                                 const VkAcquireProfilingLockInfoKHR* info) {
  const Device& device = *find_device(handle);
  ProfilingLock* lock = device.profiling_lock();
  if (!lock) return device.next().AcquireProfilingLockKHR(handle, info);
  return vk::guarded([&] { return lock->acquire(info->timeout); });
}

VKAPI_ATTR void VKAPI_CALL hook_release_lock(VkDevice handle) {
  const Device& device = *find_device(handle);
  ProfilingLock* lock = device.profiling_lock();
  if (!lock) return device.next().ReleaseProfilingLockKHR(handle);
  vk::guarded_void([&] {
    if (lock->release()) return;
    device.messages().misuse("VUID-vkReleaseProfilingLockKHR-device-03235", VK_OBJECT_TYPE_DEVICE,
                             device.handle_bits(),
                             "vkReleaseProfilingLockKHR(): the device does not hold the lock");
  });
}

}  // namespace

VKAPI_ATTR VkResult VKAPI_CALL hook_enumerate_performance_counters(
    VkPhysicalDevice gpu, uint32_t family, uint32_t* count, VkPerformanceCounterKHR* counters,
    VkPerformanceCounterDescriptionKHR* descriptions) {
  return vk::guarded([&] { return enumerate(gpu, family, count, counters, descriptions); });
}

VKAPI_ATTR void VKAPI_CALL hook_get_performance_passes(
    VkPhysicalDevice gpu, const VkQueryPoolPerformanceCreateInfoKHR* info, uint32_t* passes) {
  vk::guarded_void([&] { get_passes(gpu, *info, passes); });
}

void add_performance_query_entry_points(std::vector<vk::Hook>& hooks) {
  hooks.push_back(vk::hook("vkAcquireProfilingLockKHR", hook_acquire_lock, kProfilingLock));
  hooks.push_back(vk::hook("vkReleaseProfilingLockKHR", hook_release_lock, kProfilingLock));
}

}  // namespace tally::counters
