// A layer that stands for a driver with VK_KHR_device_address_commands,
// VK_EXT_primitive_restart_index, vkCmdEndRendering2KHR of VK_KHR_maintenance10,
// VK_KHR_internally_synchronized_queues, VK_EXT_custom_resolve (without a resolve) and
// VK_EXT_shader_64bit_indexing (whose pipelines it counts). It is the lowest of a test's layers.
//
// It translates each address into the buffer that it belongs to, and calls the command that takes a
// buffer. It ignores restart indices: it draws with the default index, while the layer
// above counts indices that it copies.
//
// It also has query types that no driver here has. Their queries begin and end without an effect,
// and the result of each is kFirstResult plus its number.
//
// For VK_EXT_descriptor_heap, push data are push constants of a layout of this layer, which all
// pipelines and shader objects with heaps have. Descriptors in heaps are not supported: shaders
// get addresses. When a command invalidates the other kind of descriptor state, the bytes of push
// constants are overwritten, and a command whose descriptors are lost ends the process.
#pragma once

#include <vulkan/vulkan_core.h>

#include <tally/vulkan_newer.h>
#include <tally/vulkan_newest.h>

#include <map>
#include <mutex>
#include <set>
#include <unordered_map>
#include <vector>

#include "vk/dispatch.h"
#include "vk/handles.h"
#include "vk/layer.h"

namespace tally::test::newest {

inline constexpr auto kElapsedTime = VK_QUERY_TYPE_TIME_ELAPSED_QCOM;
inline constexpr auto kEncodeFeedback = static_cast<VkQueryType>(1000299000);
inline constexpr VkQueryType kQueryTypes[] = {kElapsedTime, kEncodeFeedback,
                                              VK_QUERY_TYPE_MICROMAP_SERIALIZATION_SIZE_EXT,
                                              VK_QUERY_TYPE_MICROMAP_COMPACTED_SIZE_EXT};
inline constexpr uint64_t kFirstResult = 1000;

// A device function: how many pipelines the driver has created without and with
// VK_PIPELINE_CREATE_2_64_BIT_INDEXING_BIT_EXT.
struct IndexingCounts {
  uint32_t plain = 0, wide = 0;
};
inline constexpr const char* kIndexingCounts = "vkGetIndexingCountsTALLY";
using GetIndexingCounts = IndexingCounts(VKAPI_PTR*)(VkDevice);

#define TALLY_NEWEST_INSTANCE_FUNCTIONS(X)  \
  X(DestroyInstance, "")                    \
  X(EnumerateDeviceExtensionProperties, "") \
  X(GetPhysicalDeviceFeatures2, "KHR")      \
  X(GetPhysicalDeviceProperties2, "KHR")
TALLY_VK_TABLE(InstanceTable, TALLY_NEWEST_INSTANCE_FUNCTIONS)

#define TALLY_NEWEST_DEVICE_FUNCTIONS(X)    \
  X(CmdBeginConditionalRenderingEXT, "")    \
  X(CmdBeginQuery, "")                      \
  X(CmdEndQuery, "")                        \
  X(CreateQueryPool, "")                    \
  X(DestroyQueryPool, "")                   \
  X(GetQueryPoolResults, "")                \
  X(CmdBeginTransformFeedbackEXT, "")       \
  X(CmdBindIndexBuffer, "")                 \
  X(CmdBindTransformFeedbackBuffersEXT, "") \
  X(CmdBindVertexBuffers, "")               \
  X(CmdCopyBuffer, "")                      \
  X(CmdCopyQueryPoolResults, "")            \
  X(CmdDispatchIndirect, "")                \
  X(CmdDrawIndexedIndirect, "")             \
  X(CmdDrawIndexedIndirectCount, "KHR")     \
  X(CmdDrawIndirect, "")                    \
  X(CmdDrawIndirectByteCountEXT, "")        \
  X(CmdDrawIndirectCount, "KHR")            \
  X(CmdDrawMeshTasksIndirectCountEXT, "")   \
  X(CmdDrawMeshTasksIndirectEXT, "")        \
  X(CmdEndRendering, "KHR")                 \
  X(CmdEndTransformFeedbackEXT, "")         \
  X(CmdFillBuffer, "")                      \
  X(CmdUpdateBuffer, "")                    \
  X(BeginCommandBuffer, "")                 \
  X(CmdBindDescriptorSets, "")              \
  X(CmdBindPipeline, "")                    \
  X(CmdBindShadersEXT, "")                  \
  X(CmdDispatch, "")                        \
  X(CmdDraw, "")                            \
  X(CmdExecuteCommands, "")                 \
  X(CmdPushConstants, "")                   \
  X(CreateComputePipelines, "")             \
  X(CreateGraphicsPipelines, "")            \
  X(CreatePipelineLayout, "")               \
  X(CreateShadersEXT, "")                   \
  X(DestroyPipelineLayout, "")              \
  X(CreateBuffer, "")                       \
  X(DestroyBuffer, "")                      \
  X(DestroyDevice, "")                      \
  X(GetBufferDeviceAddress, "KHR")          \
  X(GetDeviceQueue, "")                     \
  X(QueueSubmit, "")                        \
  X(QueueSubmit2, "KHR")                    \
  X(QueueWaitIdle, "")
TALLY_VK_TABLE(DeviceTable, TALLY_NEWEST_DEVICE_FUNCTIONS)

// A place in a buffer; null for the address 0.
struct Place {
  VkBuffer buffer = VK_NULL_HANDLE;
  VkDeviceSize offset = 0;
};

struct Instance {
  VkInstance handle;
  vk::NextInstance next_instance;
  InstanceTable next;
};

// The state of each kind of descriptors in a command buffer.
struct Descriptors {
  enum class Kind { None, Sets, Heaps };
  Kind kind = Kind::None;
  bool sets = false, sets_lost = false;
  bool heaps = false, heaps_lost = false;
  bool graphics_heaps = false, compute_heaps = false;  // of what is bound
};

struct Device {
  vk::NextDevice next_device;
  DeviceTable next;
  std::mutex mutex;  // guards what follows
  std::unordered_map<VkBuffer, VkDeviceSize> sizes;
  std::map<VkDeviceAddress, VkBuffer> addresses;  // of first bytes
  std::set<VkQueryPool> pools;                    // of kQueryTypes
  std::unordered_map<VkCommandBuffer, Descriptors> descriptors;
  std::set<VkPipeline> heap_pipelines;
  std::set<VkShaderEXT> heap_shaders;
  VkPipelineLayout heap_layout = VK_NULL_HANDLE;
  uint32_t push_bytes = 0;
  VkShaderStageFlags push_stages = 0;
  IndexingCounts indexing;
  std::mutex queue_mutex;

  bool has_pool(VkQueryPool pool) {
    const std::lock_guard lock(mutex);
    return pools.contains(pool);
  }

  // Ends the process at an address of no buffer.
  Place find(VkDeviceAddress address);
};

vk::HandleMap<void*, Instance*>& instances();
vk::HandleMap<void*, Device*>& devices();
inline Instance& instance_of(const void* handle) {
  return *instances().find(vk::dispatch_key(handle));
}
inline Device& device_of(const void* handle) { return *devices().find(vk::dispatch_key(handle)); }

using Hooks = std::vector<vk::Hook>;
void add_command_hooks(Hooks& hooks);
void add_query_hooks(Hooks& hooks);
void add_heap_hooks(Hooks& hooks);
void add_queue_hooks(Hooks& hooks);
// Call for each new device that enables descriptor heaps.
void prepare_heaps(VkDevice handle, Device& device, const VkDeviceCreateInfo& info,
                   uint32_t push_bytes);

}  // namespace tally::test::newest
