// The test driver's objects and the functions that it intercepts, with one file for each kind.
#pragma once

#include <vulkan/vulkan_core.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "api/driver/queries.h"
#include "vk/dispatch.h"
#include "vk/handles.h"
#include "vk/layer.h"

namespace tally::test::driver {

#define TALLY_TEST_DRIVER_INSTANCE_FUNCTIONS(X) \
  X(DestroyInstance, "")                        \
  X(EnumerateDeviceExtensionProperties, "")     \
  X(GetPhysicalDeviceFeatures, "")              \
  X(GetPhysicalDeviceFeatures2, "KHR")          \
  X(GetPhysicalDeviceMemoryProperties, "")      \
  X(GetPhysicalDeviceProperties2, "KHR")
TALLY_VK_TABLE(InstanceTable, TALLY_TEST_DRIVER_INSTANCE_FUNCTIONS)

struct Instance {
  VkInstance handle;
  vk::NextInstance next_instance;
  // Looked up early: later the loader gives the lowest layer the functions of the highest one.
  InstanceTable next;
};

// The state for marks; see counters.h.
struct Marked {
  VkPipeline pipelines[2] = {};  // by bind point
  VkPipelineLayout layout = VK_NULL_HANDLE;
  VkShaderStageFlags stages = 0;
};

// Captures and replays the handles of ray-tracing groups: a handle is the sum of the code of the
// group's shaders.
using ReplayHandle = uint64_t;
inline constexpr VkStructureType kRayFeatures =
    VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_RAY_TRACING_PIPELINE_FEATURES_KHR;

struct Device {
  VkDevice handle;
  vk::NextDevice next_device;
  Table next;
  VkPhysicalDeviceMemoryProperties memory;
  vk::HandleMap<VkShaderModule, bool> instrumented;
  vk::HandleMap<VkShaderModule, ReplayHandle> sums;
  vk::HandleMap<VkPipeline, std::vector<ReplayHandle>> replayed;
  std::atomic<uint32_t> created_graphics = 0;
  vk::HandleMap<VkDescriptorSetLayout, bool> set_layouts;  // true: exists
  std::atomic<uint32_t> created_shaders = 0;
  std::atomic<uint32_t> uses_of_queries = 0;
  std::mutex mutex;  // guards the members below
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

// All instances, by their dispatch keys.
vk::HandleMap<void*, Instance*>& instances();
vk::HandleMap<void*, Device*>& devices();
inline Instance& instance_of(const void* handle) {
  return *instances().find(vk::dispatch_key(handle));
}
inline Device& device_of(const void* handle) { return *devices().find(vk::dispatch_key(handle)); }

VKAPI_ATTR void VKAPI_CALL release_lock(VkDevice device);

using Hooks = std::vector<vk::Hook>;
void add_physical_device_hooks(Hooks& hooks);
void add_pool_hooks(Hooks& hooks);
void add_command_hooks(Hooks& hooks);
void add_pipeline_hooks(Hooks& hooks);
void add_shader_object_hooks(Hooks& hooks);

// True if the SPIR-V is a variant that counts.
bool is_instrumented(const void* code, size_t size);

}  // namespace tally::test::driver
