// The functions that the layer returns to the loader, by the file that defines them. Each is thin:
// it finds the state of its object, calls that, and calls the next layer.
#pragma once

#include <vulkan/vk_layer.h>

#include <cstdint>

#include "counters/layer/device.h"
#include "counters/layer/offered_extensions.h"
#include "vk/handles.h"

namespace tally::counters {

// Looks up the state of a VkCommandBuffer, as every command does.

class CommandBuffer;

// The command buffers of all devices. Each one is also in its device's table.
extern vk::HandleIndex<VkCommandBuffer, CommandBuffer> g_command_buffers;

// For those that g_command_buffers.find_near() does not find. Null for one the layer does not know.
CommandBuffer* find_far_command_buffer(VkCommandBuffer handle);

// Null for one the layer does not know.
inline CommandBuffer* find_command_buffer(VkCommandBuffer handle) {
  CommandBuffer* const near = g_command_buffers.find_near(handle);
  return near ? near : find_far_command_buffer(handle);
}

inline constexpr char kLayerName[] = "VK_LAYER_TALLY_counters";

// The functions of the next layer or the driver.
inline const DeviceTable& next_of(const void* dispatchable_handle) {
  return find_device(dispatchable_handle)->next();
}

const HookTable& instance_hooks();         // layer/entry_instance.cpp
const HookTable& physical_device_hooks();  // layer/entry_physical_device.cpp
const HookTable& device_hooks();           // layer/entry_points.cpp collects the following

void add_device_entry_points(Hooks& hooks);
void add_command_buffer_entry_points(Hooks& hooks);
void add_action_entry_points(Hooks& hooks);
void add_generated_command_entry_points(Hooks& hooks);
void add_pipeline_entry_points(Hooks& hooks);
void add_pipeline_cache_entry_points(Hooks& hooks);
void add_shader_object_entry_points(Hooks& hooks);
void add_queue_entry_points(Hooks& hooks);
void add_object_name_entry_points(Hooks& hooks);
void add_shader_instrumentation_entry_points(Hooks& hooks);
void add_query_entry_points(Hooks& hooks);
void add_draw_state_entry_points(Hooks& hooks);
void add_counted_command_entry_points(Hooks& hooks);
void add_descriptor_heap_entry_points(Hooks& hooks);
void add_performance_query_entry_points(Hooks& hooks);
void add_intel_performance_query_entry_points(Hooks& hooks);
void add_counters_by_region_entry_points(Hooks& hooks);

// In regions/entry.cpp, called by hooks of several features: vkBeginCommandBuffer of a secondary
// command buffer, and the enumeration.
VkResult begin_secondary(VkCommandBuffer commands, CommandBuffer& state,
                         const VkCommandBufferBeginInfo& info);
VkResult enumerate_region_counters(VkPhysicalDevice handle, uint32_t family, uint32_t* count,
                                   VkPerformanceCounterARM* counters,
                                   VkPerformanceCounterDescriptionARM* descriptions);

// In features/performance/entry.cpp.
VKAPI_ATTR VkResult VKAPI_CALL hook_enumerate_performance_counters(
    VkPhysicalDevice gpu, uint32_t family, uint32_t* count, VkPerformanceCounterKHR* counters,
    VkPerformanceCounterDescriptionKHR* descriptions);
VKAPI_ATTR void VKAPI_CALL hook_get_performance_passes(
    VkPhysicalDevice gpu, const VkQueryPoolPerformanceCreateInfoKHR* info, uint32_t* passes);

PFN_vkVoidFunction VKAPI_CALL get_instance_proc_addr(VkInstance instance, const char* name);
PFN_vkVoidFunction VKAPI_CALL get_device_proc_addr(VkDevice device, const char* name);
PFN_vkVoidFunction VKAPI_CALL get_physical_device_proc_addr(VkInstance instance, const char* name);

}  // namespace tally::counters
