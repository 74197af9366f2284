// The capabilities of the driver, its queries and its queues.
#include "stand_in/newest/driver.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace tally::test::newest {
namespace {

constexpr VkStructureType kAddressFeatures =
    VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DEVICE_ADDRESS_COMMANDS_FEATURES_KHR;
constexpr VkStructureType kRestartFeatures =
    VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PRIMITIVE_RESTART_INDEX_FEATURES_EXT;

constexpr VkStructureType kHeapFeatures =
    VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DESCRIPTOR_HEAP_FEATURES_EXT;
constexpr VkStructureType kHeapProperties =
    VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DESCRIPTOR_HEAP_PROPERTIES_EXT;

// For structs with one feature each.
constexpr VkStructureType kOneFeature[] = {
    kAddressFeatures,
    kRestartFeatures,
    kHeapFeatures,
    VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_CUSTOM_RESOLVE_FEATURES_EXT,
    VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_64_BIT_INDEXING_FEATURES_EXT,
    VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_INTERNALLY_SYNCHRONIZED_QUEUES_FEATURES_KHR,
    VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ELAPSED_TIMER_QUERY_FEATURES_QCOM};

void add_features(VkPhysicalDeviceFeatures2& features) {
  for (const VkStructureType type : kOneFeature) {
    auto* found =
        vk::find_in_out_chain<VkPhysicalDeviceDescriptorHeapFeaturesEXT>(features.pNext, type);
    if (found) found->descriptorHeap = VK_TRUE;
  }
}

void add_properties(VkPhysicalDevice gpu, VkPhysicalDeviceProperties2& properties) {
  auto* heaps = vk::find_in_out_chain<VkPhysicalDeviceDescriptorHeapPropertiesEXT>(properties.pNext,
                                                                                   kHeapProperties);
  if (!heaps) return;
  constexpr VkDeviceSize kSize = 64;
  *heaps = {.sType = kHeapProperties,
            .pNext = heaps->pNext,
            .samplerHeapAlignment = kSize,
            .resourceHeapAlignment = kSize,
            .maxSamplerHeapSize = 1 << 20,
            .maxResourceHeapSize = 1 << 20,
            .samplerDescriptorSize = kSize,
            .imageDescriptorSize = kSize,
            .bufferDescriptorSize = kSize,
            .samplerDescriptorAlignment = kSize,
            .imageDescriptorAlignment = kSize,
            .bufferDescriptorAlignment = kSize,
            .maxPushDataSize = push_bytes(gpu)};
}

// --- pools of query types that the driver below lacks

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

// --- queues that synchronize themselves: all of a device share a mutex

VKAPI_ATTR void VKAPI_CALL get_queue(VkDevice handle, const VkDeviceQueueInfo2* info,
                                     VkQueue* queue) {
  device_of(handle).next.GetDeviceQueue(handle, info->queueFamilyIndex, info->queueIndex, queue);
}

template <auto kNext, typename Submit>
VKAPI_ATTR VkResult VKAPI_CALL submit(VkQueue queue, uint32_t count, const Submit* submits,
                                      VkFence fence) {
  Device& device = device_of(queue);
  const std::lock_guard lock(device.queue_mutex);
  return (device.next.*kNext)(queue, count, submits, fence);
}

VKAPI_ATTR VkResult VKAPI_CALL wait_idle(VkQueue queue) {
  Device& device = device_of(queue);
  const std::lock_guard lock(device.queue_mutex);
  return device.next.QueueWaitIdle(queue);
}

Driver make() {
  Hooks hooks{
      vk::hook("vkCmdBeginQuery", begin_query),
      vk::hook("vkCmdEndQuery", end_query),
      vk::hook("vkCmdWriteMicromapsPropertiesEXT", write_micromaps),
      vk::hook("vkCreateQueryPool", create_pool),
      vk::hook("vkDestroyQueryPool", destroy_pool<Device>),
      vk::hook("vkGetQueryPoolResults", get_results),
      vk::hook("vkGetDeviceQueue2", get_queue),
      vk::hook("vkQueueSubmit", submit<&DeviceTable::QueueSubmit, VkSubmitInfo>),
      vk::hook("vkQueueSubmit2", submit<&DeviceTable::QueueSubmit2, VkSubmitInfo2>),
      vk::hook("vkQueueSubmit2KHR", submit<&DeviceTable::QueueSubmit2, VkSubmitInfo2>),
      vk::hook("vkQueueWaitIdle", wait_idle),
  };
  add_command_hooks(hooks);
  add_heap_hooks(hooks);
  std::vector<VkStructureType> structs(std::begin(kOneFeature), std::end(kOneFeature));
  structs.push_back(kHeapProperties);
  return {
      .extensions = {{VK_EXT_DESCRIPTOR_HEAP_EXTENSION_NAME, VK_EXT_DESCRIPTOR_HEAP_SPEC_VERSION},
                     {VK_KHR_DEVICE_ADDRESS_COMMANDS_EXTENSION_NAME,
                      VK_KHR_DEVICE_ADDRESS_COMMANDS_SPEC_VERSION},
                     {VK_EXT_PRIMITIVE_RESTART_INDEX_EXTENSION_NAME,
                      VK_EXT_PRIMITIVE_RESTART_INDEX_SPEC_VERSION},
                     {VK_EXT_CUSTOM_RESOLVE_EXTENSION_NAME, 1},
                     {VK_EXT_SHADER_64BIT_INDEXING_EXTENSION_NAME, 1},
                     {VK_KHR_INTERNALLY_SYNCHRONIZED_QUEUES_EXTENSION_NAME, 1},
                     {"VK_KHR_maintenance10", 1},
                     {"VK_EXT_opacity_micromap", 1},
                     {"VK_KHR_video_encode_queue", 1},
                     {"VK_QCOM_elapsed_timer_query", 1}},
      .structs = std::move(structs),
      .add_features = add_features,
      .add_properties = add_properties,
      .make_device = []() -> std::unique_ptr<test::Device> { return std::make_unique<Device>(); },
      .hooks = vk::HookTable(std::move(hooks)),
  };
}

}  // namespace

Place Device::find(VkDeviceAddress address) {
  if (address == 0) return {};
  const std::lock_guard lock(mutex);
  const auto after = addresses.upper_bound(address);
  if (after != addresses.begin()) {
    const auto& [first, buffer] = *std::prev(after);
    if (address - first < sizes[buffer]) return {buffer, address - first};
  }
  fail("an address of no buffer");
}

void Device::adapt(const VkDeviceCreateInfo&, DeviceInfoBelow& below) {
  for (VkDeviceQueueCreateInfo& queue : below.queues) {
    queue.flags &=
        ~VkDeviceQueueCreateFlags{VK_DEVICE_QUEUE_CREATE_INTERNALLY_SYNCHRONIZED_BIT_KHR};
  }
}

void Device::begin(const VkDeviceCreateInfo& wanted) {
  if (vk::find_in_chain<VkBaseInStructure>(wanted.pNext, kHeapFeatures))
    prepare_heaps(*this, wanted);
}

void Device::end() {
  if (heap_layout != VK_NULL_HANDLE) next.DestroyPipelineLayout(handle, heap_layout, nullptr);
}

uint32_t push_bytes(VkPhysicalDevice gpu) {
  VkPhysicalDeviceProperties2 properties{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2};
  instance_of(gpu).next.GetPhysicalDeviceProperties2(gpu, &properties);
  return properties.properties.limits.maxPushConstantsSize;
}

const Driver& driver() {
  static const auto* all = new Driver(make());
  return *all;
}

}  // namespace tally::test::newest
