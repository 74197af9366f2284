// A stand-in for a driver that counts the pipeline statistics queries that are begun on a device:
// a test asks for the number by the function of kBegunStatistics (begun_statistics.h).
#include <atomic>
#include <memory>
#include <unordered_set>

#include "stand_in/driver.h"
#include "stand_in/watched/begun_statistics.h"

namespace tally::test::watched {
namespace {

struct Device : test::Device {
  std::unordered_set<VkQueryPool> pools;  // of pipeline statistics
  std::atomic<uint64_t> begun = 0;
};

Device& device_of(const void* handle) { return static_cast<Device&>(find_device(handle)); }

VKAPI_ATTR VkResult VKAPI_CALL create_pool(VkDevice handle, const VkQueryPoolCreateInfo* info,
                                           const VkAllocationCallbacks* allocator,
                                           VkQueryPool* pool) {
  Device& device = device_of(handle);
  const VkResult result = device.next.CreateQueryPool(handle, info, allocator, pool);
  if (result == VK_SUCCESS && info->queryType == VK_QUERY_TYPE_PIPELINE_STATISTICS) {
    const std::lock_guard lock(device.mutex);
    device.pools.insert(*pool);
  }
  return result;
}

VKAPI_ATTR void VKAPI_CALL begin_query(VkCommandBuffer commands, VkQueryPool pool, uint32_t query,
                                       VkQueryControlFlags flags) {
  Device& device = device_of(commands);
  {
    const std::lock_guard lock(device.mutex);
    if (device.pools.contains(pool)) ++device.begun;
  }
  device.next.CmdBeginQuery(commands, pool, query, flags);
}

VKAPI_ATTR uint64_t VKAPI_CALL begun_statistics(VkDevice handle) { return device_of(handle).begun; }

}  // namespace

const Driver& driver() {
  static const auto* all = new Driver{
      .extensions = {},
      .structs = {},
      .add_features = [](VkPhysicalDeviceFeatures2&) {},
      .add_properties = nullptr,
      .make_device = []() -> std::unique_ptr<test::Device> { return std::make_unique<Device>(); },
      .hooks = vk::HookTable({
          vk::hook("vkCreateQueryPool", create_pool),
          vk::hook("vkCmdBeginQuery", begin_query),
          vk::hook("vkDestroyQueryPool", destroy_pool<Device>),
          vk::hook(kBegunStatistics, begun_statistics),
      }),
  };
  return *all;
}

}  // namespace tally::test::watched
