// The functions that the layer returns to the loader, by the file that defines them. Each is thin:
// it finds the state of its object, calls that, and calls the next layer.
#pragma once

#include <vulkan/vk_layer.h>

#include <cstdint>
#include <vector>

#include "counters/layer/device.h"
#include "counters/recording/command_buffer.h"
#include "vk/chain.h"
#include "vk/handles.h"
#include "vk/layer.h"

namespace tally::counters {

// Looks up the state of a VkCommandBuffer, as every command does.

class CommandBuffer;

// The command buffers of all devices. Each one is also in its device's table.
extern constinit vk::CommandBufferIndex<CommandBuffer> g_command_buffers;

// For those that g_command_buffers.find_near() does not find. Null for one the layer does not know.
CommandBuffer* find_far_command_buffer(VkCommandBuffer handle);

// Null for one the layer does not know.
inline CommandBuffer* find_command_buffer(VkCommandBuffer handle) {
  CommandBuffer* const near = g_command_buffers.find_near(handle);
  return near ? near : find_far_command_buffer(handle);
}

inline constexpr char kLayerName[] = "VK_LAYER_TALLY_counters";

// When a device function is intercepted, as bits of vk::Hook::condition.
enum HookCondition : uint32_t {
  kAlways = 0,
  kExtensionEnabled =
      1,  // a function of VK_ARM_shader_instrumentation, which the application enabled
  kInstrumentation = 2,       // any feature of the layer is enabled
  kQueueShared = 4,           // ... and the layer copies records on a queue of the application
  kRegions = 16,              // counters by region are enabled
  kQueries = 32,              // the layer emulates queries
  kPasses = 64,               // counters by region or emulated queries
  kProfilingLock = 128,       // VK_KHR_performance_query is enabled
  kIntelQueries = 256,        // VK_INTEL_performance_query is emulated
  kHeaps = 1024,              // VK_EXT_descriptor_heap is enabled with a feature of the layer
  kDescriptors = 2048,        // kHeaps or kPerformanceQueries
  kPerformanceQueries = 512,  // one of the two kinds of performance queries is emulated
  kRendering = 4096,          // kPasses, or the GPU gathers records
  kWhereBelow = 8,            // an instance function of an extension that the layers below have
};

// The functions of the next layer or the driver.
inline const DeviceTable& next_of(const void* dispatchable_handle) {
  return find_device(dispatchable_handle)->next();
}

const vk::HookTable& instance_hooks();         // layer/entry_instance.cpp
const vk::HookTable& physical_device_hooks();  // layer/entry_physical_device.cpp
const vk::HookTable& device_hooks();           // layer/hooks.cpp collects the following

void add_device_entry_points(std::vector<vk::Hook>& hooks);
void add_command_buffer_entry_points(std::vector<vk::Hook>& hooks);
void add_action_entry_points(std::vector<vk::Hook>& hooks);
void add_generated_command_entry_points(std::vector<vk::Hook>& hooks);
void add_pipeline_entry_points(std::vector<vk::Hook>& hooks);
void add_pipeline_cache_entry_points(std::vector<vk::Hook>& hooks);
void add_shader_object_entry_points(std::vector<vk::Hook>& hooks);
void add_queue_entry_points(std::vector<vk::Hook>& hooks);
void add_object_name_entry_points(std::vector<vk::Hook>& hooks);
void add_shader_instrumentation_entry_points(std::vector<vk::Hook>& hooks);
void add_query_entry_points(std::vector<vk::Hook>& hooks);
void add_draw_state_entry_points(std::vector<vk::Hook>& hooks);
void add_counted_command_entry_points(std::vector<vk::Hook>& hooks);
void add_descriptor_heap_entry_points(std::vector<vk::Hook>& hooks);
void add_performance_query_entry_points(std::vector<vk::Hook>& hooks);
void add_intel_performance_query_entry_points(std::vector<vk::Hook>& hooks);
void add_counters_by_region_entry_points(std::vector<vk::Hook>& hooks);

// In regions/entry.cpp, called by hooks of several features: vkBeginCommandBuffer of a secondary
// command buffer, and the enumeration.
VkResult begin_secondary(VkCommandBuffer commands, CommandBuffer& state,
                         const VkCommandBufferBeginInfo& info);
VkResult enumerate_region_counters(VkPhysicalDevice handle, uint32_t family, uint32_t* count,
                                   VkPerformanceCounterARM* counters,
                                   VkPerformanceCounterDescriptionARM* descriptions);

// In performance/entry_khr.cpp.
VKAPI_ATTR VkResult VKAPI_CALL hook_enumerate_performance_counters(
    VkPhysicalDevice gpu, uint32_t family, uint32_t* count, VkPerformanceCounterKHR* counters,
    VkPerformanceCounterDescriptionKHR* descriptions);
VKAPI_ATTR void VKAPI_CALL hook_get_performance_passes(
    VkPhysicalDevice gpu, const VkQueryPoolPerformanceCreateInfoKHR* info, uint32_t* passes);

PFN_vkVoidFunction VKAPI_CALL get_instance_proc_addr(VkInstance instance, const char* name);
PFN_vkVoidFunction VKAPI_CALL get_device_proc_addr(VkDevice device, const char* name);
PFN_vkVoidFunction VKAPI_CALL get_physical_device_proc_addr(VkInstance instance, const char* name);

}  // namespace tally::counters
