// VK_KHR_performance_query: its counters, passes and profiling lock. Query pools are in
// queries.cpp.
#include <fmt/format.h>

#include "counters/entry/entry_points.h"
#include "counters/state/performance_counters.h"
#include "vk/boundary.h"

namespace tally::counters {
namespace {

std::vector<PerformanceCounter> counters_of(Instance& instance, VkPhysicalDevice handle,
                                            uint32_t family) {
  const PhysicalDevice& gpu = instance.physical_device(handle);
  if (!gpu.offers_performance_queries()) return {};
  return performance_counters(gpu, family, instance.options());
}

// Of a driver that has the extension itself.
template <typename Function>
Function native_function(Instance& instance, const char* name) {
  return reinterpret_cast<Function>(
      instance.next_instance().get_instance_proc_addr(instance.handle(), name));
}

bool is_native(Instance& instance, VkPhysicalDevice handle) {
  return instance.physical_device(handle).native_performance_queries;
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

VkResult enumerate(VkPhysicalDevice handle, uint32_t family, uint32_t* count,
                   VkPerformanceCounterKHR* counters,
                   VkPerformanceCounterDescriptionKHR* descriptions) {
  Instance& instance = *find_instance(handle);
  if (!is_native(instance, handle)) {
    return write_counters(counters_of(instance, handle, family), count, counters, descriptions);
  }
  const auto native =
      native_function<PFN_vkEnumeratePhysicalDeviceQueueFamilyPerformanceQueryCountersKHR>(
          instance, "vkEnumeratePhysicalDeviceQueueFamilyPerformanceQueryCountersKHR");
  return native ? native(handle, family, count, counters, descriptions)
                : VK_ERROR_INITIALIZATION_FAILED;
}

void get_passes(VkPhysicalDevice handle, const VkQueryPoolPerformanceCreateInfoKHR& info,
                uint32_t* passes) {
  Instance& instance = *find_instance(handle);
  if (is_native(instance, handle)) {
    const auto native =
        native_function<PFN_vkGetPhysicalDeviceQueueFamilyPerformanceQueryPassesKHR>(
            instance, "vkGetPhysicalDeviceQueueFamilyPerformanceQueryPassesKHR");
    if (native) native(handle, &info, passes);
    return;
  }
  const auto query =
      plan_performance_query(counters_of(instance, handle, info.queueFamilyIndex),
                             std::span(info.pCounterIndices, info.counterIndexCount));
  *passes = query ? query->passes : 0;
  if (query) return;
  instance.messages().misuse(
      "VUID-VkQueryPoolPerformanceCreateInfoKHR-pCounterIndices-03321",
      VK_OBJECT_TYPE_PHYSICAL_DEVICE, vk::handle_bits(handle),
      fmt::format("vkGetPhysicalDeviceQueueFamilyPerformanceQueryPassesKHR(): an index is not one "
                  "of a counter of queue family {}",
                  info.queueFamilyIndex));
}

VKAPI_ATTR VkResult VKAPI_CALL hook_acquire(VkDevice handle,
                                            const VkAcquireProfilingLockInfoKHR* info) {
  const Device& device = *find_device(handle);
  ProfilingLock* lock = device.profiling_lock();
  if (!lock) return device.next().AcquireProfilingLockKHR(handle, info);
  return vk::guarded([&] { return lock->acquire(info->timeout); });
}

VKAPI_ATTR void VKAPI_CALL hook_release(VkDevice handle) {
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
  hooks.push_back(vk::hook("vkAcquireProfilingLockKHR", hook_acquire, kProfilingLock));
  hooks.push_back(vk::hook("vkReleaseProfilingLockKHR", hook_release, kProfilingLock));
}

}  // namespace tally::counters
