// A stand-in for a driver with VK_KHR_device_address_commands,
// VK_EXT_primitive_restart_index, vkCmdEndRendering2KHR of VK_KHR_maintenance10,
// VK_KHR_internally_synchronized_queues, VK_EXT_custom_resolve (without a resolve) and
// VK_EXT_shader_64bit_indexing (whose pipelines it counts).
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

#include <array>
#include <map>
#include <mutex>
#include <set>
#include <unordered_map>
#include <vector>

#include "stand_in/driver.h"

namespace tally::test::newest {

inline constexpr auto kElapsedTime = VK_QUERY_TYPE_TIME_ELAPSED_QCOM;
inline constexpr auto kEncodeFeedback = static_cast<VkQueryType>(1000299000);
inline constexpr VkQueryType kQueryTypes[] = {kElapsedTime, kEncodeFeedback,
                                              VK_QUERY_TYPE_MICROMAP_SERIALIZATION_SIZE_EXT,
                                              VK_QUERY_TYPE_MICROMAP_COMPACTED_SIZE_EXT};
inline constexpr uint64_t kFirstResult = 1000;

// A struct that no registry has. The driver ends the process where its words have changed.
struct UnknownStruct {
  static constexpr auto kType = static_cast<VkStructureType>(1999999000);
  static constexpr uint64_t kWord = 0x0123456789abcdef;
  VkStructureType type = kType;
  const void* next = nullptr;
  std::array<uint64_t, 128> words;
};

// A device function: how many pipelines the driver has created without and with
// VK_PIPELINE_CREATE_2_64_BIT_INDEXING_BIT_EXT, and with an UnknownStruct.
struct PipelineCounts {
  uint32_t plain = 0, wide = 0, unknown = 0;
};
inline constexpr const char* kPipelineCounts = "vkGetPipelineCountsTALLY";
using GetPipelineCounts = PipelineCounts(VKAPI_PTR*)(VkDevice);

// A place in a buffer; null for the address 0.
struct Place {
  VkBuffer buffer = VK_NULL_HANDLE;
  VkDeviceSize offset = 0;
};

// The state of each kind of descriptors in a command buffer.
struct Descriptors {
  enum class Kind { None, Sets, Heaps };
  Kind kind = Kind::None;
  bool sets = false, sets_lost = false;
  bool heaps = false, heaps_lost = false;
  bool graphics_heaps = false, compute_heaps = false;  // of what is bound
};

struct Device : test::Device {
  void adapt(const VkDeviceCreateInfo& wanted, DeviceInfoBelow& below) override;
  void begin(const VkDeviceCreateInfo& wanted) override;
  void end() override;

  // Guarded by the mutex:
  std::unordered_map<VkBuffer, VkDeviceSize> sizes;
  std::map<VkDeviceAddress, VkBuffer> addresses;  // of first bytes
  std::set<VkQueryPool> pools;                    // of kQueryTypes
  std::unordered_map<VkCommandBuffer, Descriptors> descriptors;
  std::set<VkPipeline> heap_pipelines;
  std::set<VkShaderEXT> heap_shaders;
  VkPipelineLayout heap_layout = VK_NULL_HANDLE;
  uint32_t push_bytes = 0;
  VkShaderStageFlags push_stages = 0;
  PipelineCounts created;
  std::mutex queue_mutex;

  bool has_pool(VkQueryPool pool) {
    const std::lock_guard lock(mutex);
    return pools.contains(pool);
  }

  // Ends the process at an address of no buffer.
  Place find(VkDeviceAddress address);
};

inline Device& device_of(const void* handle) { return static_cast<Device&>(find_device(handle)); }

void add_command_hooks(Hooks& hooks);
void add_heap_hooks(Hooks& hooks);
// Call for each new device that enables descriptor heaps.
void prepare_heaps(Device& device, const VkDeviceCreateInfo& info);
uint32_t push_bytes(VkPhysicalDevice gpu);

}  // namespace tally::test::newest
