// The functions that this layer hands to the loader, by the file that holds their bodies. Each body
// is thin: it finds the state of its object, calls one function of it and the next layer.
#pragma once

#include <vulkan/vk_layer.h>

#include <cstdint>
#include <vector>

#include "counters/layer/device.h"
#include "vk/chain.h"
#include "vk/hooks.h"

namespace tally::counters {

inline constexpr char kLayerName[] = "VK_LAYER_TALLY_counters";

// When a device function is intercepted, as bits of vk::Hook::condition.
enum HookCondition : uint32_t {
  kAlways = 0,
  kExtensionEnabled = 1,      // our own function of an extension that the application enabled
  kInstrumentation = 2,       // shader instrumentation or counters by region are on
  kQueueShared = 4,           // ... and copies of records share a queue with the application
  kRegions = 16,              // counters by region are on
  kQueries = 32,              // queries are emulated
  kPasses = 64,               // render passes matter: one of the two
  kProfilingLock = 128,       // VK_KHR_performance_query is enabled
  kIntelQueries = 256,        // VK_INTEL_performance_query is emulated
  kPerformanceQueries = 512,  // one of the two kinds of performance queries is
  kWhereBelow = 8,  // an instance function of an extension: where the layers below have it
};

const vk::HookTable& instance_hooks();         // layer/entry_instance.cpp
const vk::HookTable& physical_device_hooks();  // layer/entry_physical_device.cpp
const vk::HookTable& device_hooks();           // layer/hooks.cpp, which gathers the following

void add_device_entry_points(std::vector<vk::Hook>& hooks);
void add_command_buffer_entry_points(std::vector<vk::Hook>& hooks);
void add_action_entry_points(std::vector<vk::Hook>& hooks);
void add_pipeline_entry_points(std::vector<vk::Hook>& hooks);
void add_queue_entry_points(std::vector<vk::Hook>& hooks);
void add_object_name_entry_points(std::vector<vk::Hook>& hooks);
void add_shader_instrumentation_entry_points(std::vector<vk::Hook>& hooks);
void add_query_entry_points(std::vector<vk::Hook>& hooks);
void add_draw_state_entry_points(std::vector<vk::Hook>& hooks);
void add_counted_command_entry_points(std::vector<vk::Hook>& hooks);
void add_performance_query_entry_points(std::vector<vk::Hook>& hooks);
void add_intel_performance_query_entry_points(std::vector<vk::Hook>& hooks);
void add_counters_by_region_entry_points(std::vector<vk::Hook>& hooks);

// Of queries/entry.cpp: the create info of a buffer that may hold arguments or indices of commands,
// so that they can be copied for emulated queries.
class CopyableBuffer {
 public:
  CopyableBuffer(const VkBufferCreateInfo& info, bool queries);
  const VkBufferCreateInfo* info() const { return &info_; }
  // It may be bound where its size is asked for: for indices or transform feedback.
  bool is_bound() const { return is_bound_; }

 private:
  bool is_bound_ = false;
  VkBufferCreateInfo info_;
  vk::ChainCopy chain_;
};

// Of regions/entry.cpp, called by the hooks that others have too: vkBeginCommandBuffer
// of a secondary command buffer, and the enumeration.
VkResult begin_secondary(VkCommandBuffer commands, CommandBuffer& state,
                         const VkCommandBufferBeginInfo& info);
VkResult enumerate_region_counters(VkPhysicalDevice handle, uint32_t family, uint32_t* count,
                                   VkPerformanceCounterARM* counters,
                                   VkPerformanceCounterDescriptionARM* descriptions);

// Of entry/performance_query.cpp.
VKAPI_ATTR VkResult VKAPI_CALL hook_enumerate_performance_counters(
    VkPhysicalDevice gpu, uint32_t family, uint32_t* count, VkPerformanceCounterKHR* counters,
    VkPerformanceCounterDescriptionKHR* descriptions);
VKAPI_ATTR void VKAPI_CALL hook_get_performance_passes(
    VkPhysicalDevice gpu, const VkQueryPoolPerformanceCreateInfoKHR* info, uint32_t* passes);

PFN_vkVoidFunction VKAPI_CALL get_instance_proc_addr(VkInstance instance, const char* name);
PFN_vkVoidFunction VKAPI_CALL get_device_proc_addr(VkDevice device, const char* name);
PFN_vkVoidFunction VKAPI_CALL get_physical_device_proc_addr(VkInstance instance, const char* name);

}  // namespace tally::counters
