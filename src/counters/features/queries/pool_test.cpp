#include "counters/features/queries/pool.h"

#include <gtest/gtest.h>

#include <array>

namespace tally::counters {
namespace {

// The parts of a driver that a pool needs, with memory for one pool.
alignas(64) std::array<std::byte, 4096> driver_memory;
bool device_lost = false;

template <typename Handle>
Handle some_handle() {
  return reinterpret_cast<Handle>(uint64_t{1});
}

DeviceTable make_driver() {
  DeviceTable driver{};
  driver.CreateBuffer = [](VkDevice, const VkBufferCreateInfo*, const VkAllocationCallbacks*,
                           VkBuffer* buffer) {
    *buffer = some_handle<VkBuffer>();
    return VK_SUCCESS;
  };
  driver.DestroyBuffer = [](VkDevice, VkBuffer, const VkAllocationCallbacks*) {};
  driver.GetBufferMemoryRequirements = [](VkDevice, VkBuffer, VkMemoryRequirements* needed) {
    *needed = {driver_memory.size(), 64, 1};
  };
  driver.AllocateMemory = [](VkDevice, const VkMemoryAllocateInfo*, const VkAllocationCallbacks*,
                             VkDeviceMemory* memory) {
    *memory = some_handle<VkDeviceMemory>();
    return VK_SUCCESS;
  };
  driver.FreeMemory = [](VkDevice, VkDeviceMemory, const VkAllocationCallbacks*) {};
  driver.BindBufferMemory = [](VkDevice, VkBuffer, VkDeviceMemory, VkDeviceSize) {
    return VK_SUCCESS;
  };
  driver.MapMemory = [](VkDevice, VkDeviceMemory, VkDeviceSize, VkDeviceSize, VkMemoryMapFlags,
                        void** host) {
    *host = driver_memory.data();
    return VK_SUCCESS;
  };
  driver.GetBufferDeviceAddress = [](VkDevice, const VkBufferDeviceAddressInfo*) {
    return VkDeviceAddress{64};
  };
  driver.CreateFence = [](VkDevice, const VkFenceCreateInfo*, const VkAllocationCallbacks*,
                          VkFence* fence) {
    *fence = some_handle<VkFence>();
    return VK_SUCCESS;
  };
  driver.DestroyFence = [](VkDevice, VkFence, const VkAllocationCallbacks*) {};
  driver.WaitForFences = [](VkDevice, uint32_t, const VkFence*, VkBool32, uint64_t) {
    const VkResult result = device_lost ? VK_ERROR_DEVICE_LOST : VK_TIMEOUT;
    device_lost = true;  // while the pool waits
    return result;
  };
  return driver;
}

TEST(QueryPool, waits_no_longer_than_the_device_lives) {
  const DeviceTable driver = make_driver();
  MemoryContext context;
  context.next = &driver;
  context.memory.memoryTypeCount = 1;
  context.memory.memoryTypes[0].propertyFlags =
      VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  VkResult result = VK_SUCCESS;
  const auto pool = QueryPool::create(context, {.rows = {{}}, .results = {{.row = 0}}}, 1, result);
  ASSERT_NE(pool, nullptr);
  uint64_t number = 0;
  QueryPool::Request request{0, 1, sizeof number, &number, sizeof number, VK_QUERY_RESULT_64_BIT};
  EXPECT_EQ(pool->results(request), VK_NOT_READY);
  request.flags |= VK_QUERY_RESULT_WAIT_BIT;
  EXPECT_EQ(pool->results(request), VK_ERROR_DEVICE_LOST);
}

}  // namespace
}  // namespace tally::counters
