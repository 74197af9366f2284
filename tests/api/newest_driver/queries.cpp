// Pools of query types that the driver below lacks.
#include <algorithm>
#include <cstddef>
#include <cstring>

#include "api/newest_driver/newest_driver.h"

namespace tally::test::newest {
namespace {

VKAPI_ATTR VkResult VKAPI_CALL create_pool(VkDevice handle, const VkQueryPoolCreateInfo* info,
                                           const VkAllocationCallbacks* allocator,
                                           VkQueryPool* pool) {
  Device& device = device_of(handle);
  const bool ours = std::ranges::find(kQueryTypes, info->queryType) != std::end(kQueryTypes);
  VkQueryPoolCreateInfo below = *info;
  if (ours) below.queryType = VK_QUERY_TYPE_OCCLUSION;
  const VkResult result = device.next.CreateQueryPool(handle, &below, allocator, pool);
  const std::lock_guard lock(device.mutex);
  if (result == VK_SUCCESS && ours) device.pools.insert(*pool);
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

VKAPI_ATTR void VKAPI_CALL begin_query(VkCommandBuffer commands, VkQueryPool pool, uint32_t query,
                                       VkQueryControlFlags flags) {
  Device& device = device_of(commands);
  if (!device.has_pool(pool)) device.next.CmdBeginQuery(commands, pool, query, flags);
}

VKAPI_ATTR void VKAPI_CALL end_query(VkCommandBuffer commands, VkQueryPool pool, uint32_t query) {
  Device& device = device_of(commands);
  if (!device.has_pool(pool)) device.next.CmdEndQuery(commands, pool, query);
}

VKAPI_ATTR void VKAPI_CALL write_micromaps(VkCommandBuffer, uint32_t, const VkMicromapEXT*,
                                           VkQueryType, VkQueryPool, uint32_t) {}

VKAPI_ATTR VkResult VKAPI_CALL get_results(VkDevice handle, VkQueryPool pool, uint32_t first,
                                           uint32_t count, size_t size, void* data,
                                           VkDeviceSize stride, VkQueryResultFlags flags) {
  Device& device = device_of(handle);
  if (!device.has_pool(pool)) {
    return device.next.GetQueryPoolResults(handle, pool, first, count, size, data, stride, flags);
  }
  for (uint32_t i = 0; i < count; ++i) {
    const uint64_t result = kFirstResult + first + i;
    std::memcpy(static_cast<std::byte*>(data) + i * stride, &result, sizeof result);
  }
  return VK_SUCCESS;
}

}  // namespace

void add_query_hooks(Hooks& hooks) {
  hooks.push_back(vk::hook("vkCmdBeginQuery", begin_query));
  hooks.push_back(vk::hook("vkCmdEndQuery", end_query));
  hooks.push_back(vk::hook("vkCmdWriteMicromapsPropertiesEXT", write_micromaps));
  hooks.push_back(vk::hook("vkCreateQueryPool", create_pool));
  hooks.push_back(vk::hook("vkDestroyQueryPool", destroy_pool));
  hooks.push_back(vk::hook("vkGetQueryPoolResults", get_results));
}

}  // namespace tally::test::newest
