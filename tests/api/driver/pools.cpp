// Pools of performance queries, their host commands, and the profiling lock.
#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

#include "api/driver/counters.h"
#include "api/driver/driver.h"
#include "vk/chain.h"

namespace tally::test::driver {
namespace {

constexpr VkStructureType kPool = VK_STRUCTURE_TYPE_QUERY_POOL_PERFORMANCE_CREATE_INFO_KHR;

std::atomic<VkDevice> g_lock_holder{VK_NULL_HANDLE};

VKAPI_ATTR VkResult VKAPI_CALL acquire_lock(VkDevice device,
                                            const VkAcquireProfilingLockInfoKHR* info) {
  const auto begin = std::chrono::steady_clock::now();
  for (;;) {
    VkDevice holder = VK_NULL_HANDLE;
    if (g_lock_holder.compare_exchange_strong(holder, device) || holder == device) {
      return VK_SUCCESS;
    }
    const auto waited = std::chrono::steady_clock::now() - begin;
    if (info->timeout <= static_cast<uint64_t>(std::chrono::nanoseconds(waited).count())) {
      return VK_TIMEOUT;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

// The handle of a pool of the driver below.
VKAPI_ATTR VkResult VKAPI_CALL create_pool(VkDevice handle, const VkQueryPoolCreateInfo* info,
                                           const VkAllocationCallbacks* allocator,
                                           VkQueryPool* pool) {
  Device& device = device_of(handle);
  const auto* wanted = vk::find_in_chain<VkQueryPoolPerformanceCreateInfoKHR>(info->pNext, kPool);
  VkQueryPoolCreateInfo below = *info;
  if (wanted) {
    below = {.sType = info->sType, .queryType = VK_QUERY_TYPE_OCCLUSION, .queryCount = 1};
  }
  const VkResult result = device.next.CreateQueryPool(handle, &below, allocator, pool);
  if (result != VK_SUCCESS || !wanted) return result;
  const std::lock_guard lock(device.mutex);
  device.pools[*pool] =
      std::make_unique<Pool>(handle, device.next, device.memory, *wanted, info->queryCount);
  return result;
}

VKAPI_ATTR void VKAPI_CALL destroy_pool(VkDevice handle, VkQueryPool pool,
                                        const VkAllocationCallbacks* allocator) {
  Device& device = device_of(handle);
  {
    const std::lock_guard lock(device.mutex);
    device.pools.erase(pool);
  }
  device.next.DestroyQueryPool(handle, pool, allocator);
}

VKAPI_ATTR void VKAPI_CALL reset_pool(VkDevice handle, VkQueryPool pool, uint32_t first,
                                      uint32_t count) {
  Device& device = device_of(handle);
  if (Pool* known = device.find(pool)) return known->reset(first, count);
  ++device.uses_of_queries;
  device.next.ResetQueryPool(handle, pool, first, count);
}

VKAPI_ATTR VkResult VKAPI_CALL get_results(VkDevice handle, VkQueryPool pool, uint32_t first,
                                           uint32_t count, size_t size, void* data,
                                           VkDeviceSize stride, VkQueryResultFlags flags) {
  Device& device = device_of(handle);
  const Pool* known = device.find(pool);
  if (!known) {
    return device.next.GetQueryPoolResults(handle, pool, first, count, size, data, stride, flags);
  }
  VkResult result = VK_SUCCESS;
  for (uint32_t i = 0; i < count; ++i) {
    if (known->available(first + i)) {
      std::memcpy(static_cast<std::byte*>(data) + i * stride, known->results(first + i),
                  known->result_bytes());
    } else {
      result = VK_NOT_READY;  // waiting would never end
    }
  }
  return result;
}

VKAPI_ATTR uint32_t VKAPI_CALL uses_of_queries(VkDevice handle) {
  return device_of(handle).uses_of_queries;
}

}  // namespace

VKAPI_ATTR void VKAPI_CALL release_lock(VkDevice device) {
  VkDevice holder = device;
  g_lock_holder.compare_exchange_strong(holder, VK_NULL_HANDLE);
}

void add_pool_hooks(Hooks& hooks) {
  hooks.push_back(vk::hook("vkAcquireProfilingLockKHR", acquire_lock));
  hooks.push_back(vk::hook("vkCreateQueryPool", create_pool));
  hooks.push_back(vk::hook("vkDestroyQueryPool", destroy_pool));
  hooks.push_back(vk::hook("vkGetQueryPoolResults", get_results));
  hooks.push_back(vk::hook(kUsesOfQueries, uses_of_queries));
  hooks.push_back(vk::hook("vkReleaseProfilingLockKHR", release_lock));
  hooks.push_back(vk::hook("vkResetQueryPool", reset_pool));
  hooks.push_back(vk::hook("vkResetQueryPoolEXT", reset_pool));
}

}  // namespace tally::test::driver
