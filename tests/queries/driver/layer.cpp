// A layer that stands for a driver with VK_KHR_performance_query: the lowest of a test's layers. It
// says that the device has the extension, and has counters of known answers (counters.h).
#include "vk/layer.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>

#include "queries/driver/counters.h"
#include "queries/driver/queries.h"
#include "vk/chain.h"
#include "vk/handle_map.h"
#include "vk/hooks.h"

namespace tally::test::driver {
namespace {

constexpr VkStructureType kFeatures =
    VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PERFORMANCE_QUERY_FEATURES_KHR;
constexpr VkStructureType kProperties =
    VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PERFORMANCE_QUERY_PROPERTIES_KHR;
constexpr VkStructureType kPass = VK_STRUCTURE_TYPE_PERFORMANCE_QUERY_SUBMIT_INFO_KHR;
constexpr VkStructureType kPool = VK_STRUCTURE_TYPE_QUERY_POOL_PERFORMANCE_CREATE_INFO_KHR;

#define TALLY_TEST_DRIVER_INSTANCE_FUNCTIONS(X) \
  X(DestroyInstance, "")                        \
  X(EnumerateDeviceExtensionProperties, "")     \
  X(GetPhysicalDeviceFeatures2, "KHR")          \
  X(GetPhysicalDeviceMemoryProperties, "")      \
  X(GetPhysicalDeviceProperties2, "KHR")
TALLY_VK_TABLE(InstanceTable, TALLY_TEST_DRIVER_INSTANCE_FUNCTIONS)

struct Instance {
  VkInstance handle;
  vk::NextInstance next_instance;
  // Looked up at once: later the loader gives the lowest layer the highest one's functions.
  InstanceTable next;
};

// What is marked: see counters.h.
struct Marked {
  VkPipeline pipelines[2] = {};  // by bind point
  VkPipelineLayout layout = VK_NULL_HANDLE;
  VkShaderStageFlags stages = 0;
};

struct Device {
  VkDevice handle;
  vk::NextDevice next_device;
  Table next;
  VkPhysicalDeviceMemoryProperties memory;
  std::mutex mutex;  // guards what follows
  std::unordered_map<VkQueryPool, std::unique_ptr<Pool>> pools;
  std::unordered_map<VkCommandBuffer, std::vector<Event>> events;
  std::unordered_map<VkCommandBuffer, Marked> marked;

  Pool* find(VkQueryPool pool) {
    const std::lock_guard lock(mutex);
    const auto found = pools.find(pool);
    return found == pools.end() ? nullptr : found->second.get();
  }
  void note(VkCommandBuffer commands, Event event) {
    const std::lock_guard lock(mutex);
    events[commands].push_back(event);
  }
  void submit(VkCommandBuffer commands, uint32_t pass) {
    const std::lock_guard lock(mutex);
    play(events[commands], pass);
  }
};

vk::HandleMap<void*, Instance*>& instances() {
  static auto* all = new vk::HandleMap<void*, Instance*>;
  return *all;
}
vk::HandleMap<void*, Device*>& devices() {
  static auto* all = new vk::HandleMap<void*, Device*>;
  return *all;
}
Instance& instance_of(const void* handle) { return *instances().find(vk::dispatch_key(handle)); }
Device& device_of(const void* handle) { return *devices().find(vk::dispatch_key(handle)); }

// --- instance and physical device

VKAPI_ATTR VkResult VKAPI_CALL create_instance(const VkInstanceCreateInfo* info,
                                               const VkAllocationCallbacks* allocator,
                                               VkInstance* handle) {
  const vk::NextInstance next = vk::take_next_instance(*info);
  const auto create = reinterpret_cast<PFN_vkCreateInstance>(
      next.get_instance_proc_addr(VK_NULL_HANDLE, "vkCreateInstance"));
  const VkResult result = create(info, allocator, handle);
  if (result == VK_SUCCESS) {
    auto* instance = new Instance{*handle, next, {}};
    instance->next.load(
        [&](const char* name) { return next.get_instance_proc_addr(*handle, name); });
    instances().insert(vk::dispatch_key(*handle), instance);
  }
  return result;
}

VKAPI_ATTR void VKAPI_CALL destroy_instance(VkInstance handle,
                                            const VkAllocationCallbacks* allocator) {
  const std::unique_ptr<Instance> instance(instances().take(vk::dispatch_key(handle)));
  instance->next.DestroyInstance(handle, allocator);
}

VKAPI_ATTR VkResult VKAPI_CALL list_extensions(VkPhysicalDevice gpu, const char* layer,
                                               uint32_t* count, VkExtensionProperties* properties) {
  const auto list = instance_of(gpu).next.EnumerateDeviceExtensionProperties;
  if (layer) return list(gpu, layer, count, properties);
  uint32_t below = 0;
  list(gpu, nullptr, &below, nullptr);
  std::vector<VkExtensionProperties> all(below);
  list(gpu, nullptr, &below, all.data());
  all.push_back({VK_KHR_PERFORMANCE_QUERY_EXTENSION_NAME, VK_KHR_PERFORMANCE_QUERY_SPEC_VERSION});
  return vk::write_array<VkExtensionProperties>(all, count, properties);
}

VKAPI_ATTR void VKAPI_CALL get_features(VkPhysicalDevice gpu, VkPhysicalDeviceFeatures2* features) {
  auto* ours = vk::find_in_out_chain<VkPhysicalDevicePerformanceQueryFeaturesKHR>(features->pNext,
                                                                                  kFeatures);
  {
    const vk::UnlinkedStructs unlinked(features, {kFeatures});
    instance_of(gpu).next.GetPhysicalDeviceFeatures2(gpu, features);
  }
  if (!ours) return;
  ours->performanceCounterQueryPools = VK_TRUE;
  ours->performanceCounterMultipleQueryPools = VK_FALSE;
}

VKAPI_ATTR void VKAPI_CALL get_properties(VkPhysicalDevice gpu,
                                          VkPhysicalDeviceProperties2* properties) {
  auto* ours = vk::find_in_out_chain<VkPhysicalDevicePerformanceQueryPropertiesKHR>(
      properties->pNext, kProperties);
  {
    const vk::UnlinkedStructs unlinked(properties, {kProperties});
    instance_of(gpu).next.GetPhysicalDeviceProperties2(gpu, properties);
  }
  if (ours) ours->allowCommandBufferQueryCopies = VK_TRUE;
}

VKAPI_ATTR VkResult VKAPI_CALL list_counters(VkPhysicalDevice, uint32_t, uint32_t* count,
                                             VkPerformanceCounterKHR* counters,
                                             VkPerformanceCounterDescriptionKHR* descriptions) {
  const bool wanted = counters || descriptions;
  const uint32_t written = wanted ? std::min<uint32_t>(*count, kCounters) : kCounters;
  for (uint32_t i = 0; wanted && i < written; ++i) {
    if (counters) {
      counters[i].unit = kAll[i].unit;
      counters[i].scope = kAll[i].scope;
      counters[i].storage = kAll[i].storage;
      std::memset(counters[i].uuid, static_cast<int>(i) + 1, VK_UUID_SIZE);
    }
    if (descriptions) std::strcpy(descriptions[i].name, kAll[i].name);
    if (descriptions) std::strcpy(descriptions[i].category, "test driver");
    if (descriptions) std::strcpy(descriptions[i].description, "known answer");
  }
  *count = written;
  return written < kCounters ? VK_INCOMPLETE : VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL get_passes(VkPhysicalDevice,
                                      const VkQueryPoolPerformanceCreateInfoKHR* info,
                                      uint32_t* passes) {
  *passes = passes_of(*info);
}

// --- device

VKAPI_ATTR VkResult VKAPI_CALL create_device(VkPhysicalDevice gpu, const VkDeviceCreateInfo* info,
                                             const VkAllocationCallbacks* allocator,
                                             VkDevice* handle) {
  const Instance& instance = instance_of(gpu);
  auto device = std::make_unique<Device>();
  device->next_device = vk::take_next_device(*info);
  VkDeviceCreateInfo below = *info;
  vk::ChainCopy chain(info->pNext);
  chain.remove(kFeatures);
  below.pNext = chain.head();
  std::vector<const char*> extensions(info->ppEnabledExtensionNames,
                                      info->ppEnabledExtensionNames + info->enabledExtensionCount);
  std::erase_if(extensions, [](const char* name) {
    return std::strcmp(name, VK_KHR_PERFORMANCE_QUERY_EXTENSION_NAME) == 0;
  });
  below.enabledExtensionCount = static_cast<uint32_t>(extensions.size());
  below.ppEnabledExtensionNames = extensions.data();
  const auto create = reinterpret_cast<PFN_vkCreateDevice>(
      device->next_device.get_instance_proc_addr(instance.handle, "vkCreateDevice"));
  const VkResult result = create(gpu, &below, allocator, handle);
  if (result != VK_SUCCESS) return result;
  device->handle = *handle;
  device->next.load(
      [&](const char* name) { return device->next_device.get_device_proc_addr(*handle, name); });
  instance.next.GetPhysicalDeviceMemoryProperties(gpu, &device->memory);
  devices().insert(vk::dispatch_key(*handle), device.release());
  return VK_SUCCESS;
}

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

VKAPI_ATTR void VKAPI_CALL release_lock(VkDevice device) {
  VkDevice holder = device;
  g_lock_holder.compare_exchange_strong(holder, VK_NULL_HANDLE);
}

VKAPI_ATTR void VKAPI_CALL destroy_device(VkDevice handle, const VkAllocationCallbacks* allocator) {
  release_lock(handle);
  const std::unique_ptr<Device> device(devices().take(vk::dispatch_key(handle)));
  device->pools.clear();
  device->next.DestroyDevice(handle, allocator);
}

// The handle is that of a pool of the driver below.
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
      result = VK_NOT_READY;  // waiting would be without end
    }
  }
  return result;
}

// --- commands

VKAPI_ATTR VkResult VKAPI_CALL begin_commands(VkCommandBuffer commands,
                                              const VkCommandBufferBeginInfo* info) {
  Device& device = device_of(commands);
  {
    const std::lock_guard lock(device.mutex);
    device.events.erase(commands);
    device.marked.erase(commands);
  }
  return device.next.BeginCommandBuffer(commands, info);
}

VKAPI_ATTR void VKAPI_CALL begin_query(VkCommandBuffer commands, VkQueryPool pool, uint32_t query,
                                       VkQueryControlFlags flags) {
  Device& device = device_of(commands);
  if (Pool* known = device.find(pool)) return device.note(commands, {Event::kBegin, known, query});
  device.next.CmdBeginQuery(commands, pool, query, flags);
}

VKAPI_ATTR void VKAPI_CALL end_query(VkCommandBuffer commands, VkQueryPool pool, uint32_t query) {
  Device& device = device_of(commands);
  if (Pool* known = device.find(pool)) return device.note(commands, {Event::kEnd, known, query});
  device.next.CmdEndQuery(commands, pool, query);
}

VKAPI_ATTR void VKAPI_CALL reset_query(VkCommandBuffer commands, VkQueryPool pool, uint32_t first,
                                       uint32_t count) {
  Device& device = device_of(commands);
  if (Pool* known = device.find(pool)) {
    return device.note(commands, {Event::kReset, known, first, count});
  }
  device.next.CmdResetQueryPool(commands, pool, first, count);
}

VKAPI_ATTR void VKAPI_CALL copy_results(VkCommandBuffer commands, VkQueryPool pool, uint32_t first,
                                        uint32_t count, VkBuffer target, VkDeviceSize offset,
                                        VkDeviceSize stride, VkQueryResultFlags flags) {
  Device& device = device_of(commands);
  const Pool* known = device.find(pool);
  if (!known) {
    return device.next.CmdCopyQueryPoolResults(commands, pool, first, count, target, offset, stride,
                                               flags);
  }
  const VkDeviceSize bytes = known->result_bytes();
  for (uint32_t i = 0; i < count; ++i) {
    const VkBufferCopy region{(first + i) * bytes, offset + i * stride, bytes};
    device.next.CmdCopyBuffer(commands, known->buffer(), target, 1, &region);
  }
}

VKAPI_ATTR void VKAPI_CALL bind_pipeline(VkCommandBuffer commands, VkPipelineBindPoint point,
                                         VkPipeline pipeline) {
  Device& device = device_of(commands);
  device.note(commands, {Event::kOther});
  device.next.CmdBindPipeline(commands, point, pipeline);
  const std::lock_guard lock(device.mutex);
  if (point <= VK_PIPELINE_BIND_POINT_COMPUTE) device.marked[commands].pipelines[point] = pipeline;
}

VKAPI_ATTR void VKAPI_CALL push_constants(VkCommandBuffer commands, VkPipelineLayout layout,
                                          VkShaderStageFlags stages, uint32_t offset, uint32_t size,
                                          const void* values) {
  Device& device = device_of(commands);
  device.next.CmdPushConstants(commands, layout, stages, offset, size, values);
  if (offset != 0 || size != sizeof(uint32_t)) return;
  const std::lock_guard lock(device.mutex);
  device.marked[commands].layout = layout;
  device.marked[commands].stages = stages;
}

void mark(Device& device, VkCommandBuffer commands, VkPipelineBindPoint point) {
  if (!std::getenv(kMarks)) return;
  const std::lock_guard lock(device.mutex);
  const Marked& marked = device.marked[commands];
  const uint32_t value = mark_of(marked.pipelines[point]);
  if (marked.stages == 0) return;
  device.next.CmdPushConstants(commands, marked.layout, marked.stages, 0, sizeof value, &value);
}

VKAPI_ATTR void VKAPI_CALL write_timestamp(VkCommandBuffer commands, VkPipelineStageFlagBits stage,
                                           VkQueryPool pool, uint32_t query) {
  Device& device = device_of(commands);
  device.note(commands, {Event::kOther});
  device.next.CmdWriteTimestamp(commands, stage, pool, query);
}

VKAPI_ATTR void VKAPI_CALL dispatch(VkCommandBuffer commands, uint32_t x, uint32_t y, uint32_t z) {
  Device& device = device_of(commands);
  device.note(commands, {Event::kDispatch});
  mark(device, commands, VK_PIPELINE_BIND_POINT_COMPUTE);
  device.next.CmdDispatch(commands, x, y, z);
}

VKAPI_ATTR void VKAPI_CALL draw(VkCommandBuffer commands, uint32_t vertices, uint32_t instances,
                                uint32_t first_vertex, uint32_t first_instance) {
  Device& device = device_of(commands);
  mark(device, commands, VK_PIPELINE_BIND_POINT_GRAPHICS);
  device.next.CmdDraw(commands, vertices, instances, first_vertex, first_instance);
}

VKAPI_ATTR void VKAPI_CALL execute(VkCommandBuffer commands, uint32_t count,
                                   const VkCommandBuffer* secondaries) {
  Device& device = device_of(commands);
  device.next.CmdExecuteCommands(commands, count, secondaries);
  const std::lock_guard lock(device.mutex);
  for (uint32_t i = 0; i < count; ++i) {
    const std::vector<Event> events = device.events[secondaries[i]];
    auto& target = device.events[commands];
    target.insert(target.end(), events.begin(), events.end());
  }
}

uint32_t pass_of(const void* chain) {
  const auto* info = vk::find_in_chain<VkPerformanceQuerySubmitInfoKHR>(chain, kPass);
  return info ? info->counterPassIndex : 0;
}

VKAPI_ATTR VkResult VKAPI_CALL submit(VkQueue queue, uint32_t count, const VkSubmitInfo* submits,
                                      VkFence fence) {
  Device& device = device_of(queue);
  for (const VkSubmitInfo& one : std::span(submits, count)) {
    for (uint32_t i = 0; i < one.commandBufferCount; ++i) {
      device.submit(one.pCommandBuffers[i], pass_of(one.pNext));
    }
  }
  return device.next.QueueSubmit(queue, count, submits, fence);
}

VKAPI_ATTR VkResult VKAPI_CALL submit2(VkQueue queue, uint32_t count, const VkSubmitInfo2* submits,
                                       VkFence fence) {
  Device& device = device_of(queue);
  for (const VkSubmitInfo2& one : std::span(submits, count)) {
    for (uint32_t i = 0; i < one.commandBufferInfoCount; ++i) {
      device.submit(one.pCommandBufferInfos[i].commandBuffer, pass_of(one.pNext));
    }
  }
  return device.next.QueueSubmit2(queue, count, submits, fence);
}

// --- the loader's way in

PFN_vkVoidFunction VKAPI_CALL get_device_proc_addr(VkDevice device, const char* name);
PFN_vkVoidFunction VKAPI_CALL get_instance_proc_addr(VkInstance instance, const char* name);

std::span<const vk::Hook> hooks() {
  static const auto* all = [] {
    auto* sorted = new std::array{
        vk::hook("vkAcquireProfilingLockKHR", acquire_lock),
        vk::hook("vkBeginCommandBuffer", begin_commands),
        vk::hook("vkCmdBeginQuery", begin_query),
        vk::hook("vkCmdBindPipeline", bind_pipeline),
        vk::hook("vkCmdWriteTimestamp", write_timestamp),
        vk::hook("vkCmdCopyQueryPoolResults", copy_results),
        vk::hook("vkCmdDispatch", dispatch),
        vk::hook("vkCmdDraw", draw),
        vk::hook("vkCmdEndQuery", end_query),
        vk::hook("vkCmdExecuteCommands", execute),
        vk::hook("vkCmdPushConstants", push_constants),
        vk::hook("vkCmdResetQueryPool", reset_query),
        vk::hook("vkCreateDevice", create_device),
        vk::hook("vkCreateInstance", create_instance),
        vk::hook("vkCreateQueryPool", create_pool),
        vk::hook("vkDestroyDevice", destroy_device),
        vk::hook("vkDestroyInstance", destroy_instance),
        vk::hook("vkDestroyQueryPool", destroy_pool),
        vk::hook("vkEnumerateDeviceExtensionProperties", list_extensions),
        vk::hook("vkEnumeratePhysicalDeviceQueueFamilyPerformanceQueryCountersKHR", list_counters),
        vk::hook("vkGetDeviceProcAddr", get_device_proc_addr),
        vk::hook("vkGetInstanceProcAddr", get_instance_proc_addr),
        vk::hook("vkGetPhysicalDeviceFeatures2", get_features),
        vk::hook("vkGetPhysicalDeviceFeatures2KHR", get_features),
        vk::hook("vkGetPhysicalDeviceProperties2", get_properties),
        vk::hook("vkGetPhysicalDeviceProperties2KHR", get_properties),
        vk::hook("vkGetPhysicalDeviceQueueFamilyPerformanceQueryPassesKHR", get_passes),
        vk::hook("vkGetQueryPoolResults", get_results),
        vk::hook("vkQueueSubmit", submit),
        vk::hook("vkQueueSubmit2", submit2),
        vk::hook("vkQueueSubmit2KHR", submit2),
        vk::hook("vkReleaseProfilingLockKHR", release_lock),
        vk::hook("vkResetQueryPool", reset_pool),
        vk::hook("vkResetQueryPoolEXT", reset_pool),
    };
    std::ranges::sort(*sorted, {}, &vk::Hook::name);
    return sorted;
  }();
  return *all;
}

PFN_vkVoidFunction VKAPI_CALL get_device_proc_addr(VkDevice handle, const char* name) {
  if (const vk::Hook* hook = vk::find_hook(hooks(), name)) return hook->function;
  return device_of(handle).next_device.get_device_proc_addr(handle, name);
}

PFN_vkVoidFunction VKAPI_CALL get_instance_proc_addr(VkInstance handle, const char* name) {
  if (const vk::Hook* hook = vk::find_hook(hooks(), name)) return hook->function;
  return handle ? instance_of(handle).next_instance.get_instance_proc_addr(handle, name) : nullptr;
}

PFN_vkVoidFunction VKAPI_CALL get_physical_device_proc_addr(VkInstance handle, const char* name) {
  if (const vk::Hook* hook = vk::find_hook(hooks(), name)) return hook->function;
  const auto next = instance_of(handle).next_instance.get_physical_device_proc_addr;
  return next ? next(handle, name) : nullptr;
}

}  // namespace
}  // namespace tally::test::driver

extern "C" VK_LAYER_EXPORT VKAPI_ATTR VkResult VKAPI_CALL
vkNegotiateLoaderLayerInterfaceVersion(VkNegotiateLayerInterface* interface) {
  using namespace tally::test::driver;
  return tally::vk::negotiate(interface, get_instance_proc_addr, get_device_proc_addr,
                              get_physical_device_proc_addr);
}
