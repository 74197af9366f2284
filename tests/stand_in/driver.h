// A stand-in for a driver that has what no driver at hand has: a layer, the lowest of a test's,
// that adds it to the driver below. The library has a layer for each such driver; a driver says
// here what it adds, and each folder holds one. An instance has one stand-in.
#pragma once

#include <vulkan/vulkan_core.h>

#include <tally/vulkan_newer.h>
#include <tally/vulkan_newest.h>

#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "vk/chain.h"
#include "vk/layer.h"

namespace tally::test {

#define TALLY_STAND_IN_INSTANCE_FUNCTIONS(X)   \
  X(DestroyInstance, "")                       \
  X(EnumerateDeviceExtensionProperties, "")    \
  X(GetPhysicalDeviceFeatures, "")             \
  X(GetPhysicalDeviceFeatures2, "KHR")         \
  X(GetPhysicalDeviceMemoryProperties, "")     \
  X(GetPhysicalDeviceMemoryProperties2, "KHR") \
  X(GetPhysicalDeviceProperties2, "KHR")       \
  X(GetPhysicalDeviceQueueFamilyProperties, "")
TALLY_VK_TABLE(InstanceTable, TALLY_STAND_IN_INSTANCE_FUNCTIONS)

#define TALLY_STAND_IN_DEVICE_FUNCTIONS(X)  \
  X(AllocateMemory, "")                     \
  X(BeginCommandBuffer, "")                 \
  X(BindBufferMemory, "")                   \
  X(CmdBeginConditionalRenderingEXT, "")    \
  X(CmdBeginQuery, "")                      \
  X(CmdBeginRenderPass, "")                 \
  X(CmdBeginRendering, "KHR")               \
  X(CmdBeginTransformFeedbackEXT, "")       \
  X(CmdBindDescriptorSets, "")              \
  X(CmdBindIndexBuffer, "")                 \
  X(CmdBindPipeline, "")                    \
  X(CmdBindShadersEXT, "")                  \
  X(CmdBindTransformFeedbackBuffersEXT, "") \
  X(CmdBindVertexBuffers, "")               \
  X(CmdCopyBuffer, "")                      \
  X(CmdCopyQueryPoolResults, "")            \
  X(CmdDispatch, "")                        \
  X(CmdDispatchIndirect, "")                \
  X(CmdDraw, "")                            \
  X(CmdDrawIndexedIndirect, "")             \
  X(CmdDrawIndexedIndirectCount, "KHR")     \
  X(CmdDrawIndirect, "")                    \
  X(CmdDrawIndirectByteCountEXT, "")        \
  X(CmdDrawIndirectCount, "KHR")            \
  X(CmdDrawMeshTasksIndirectCountEXT, "")   \
  X(CmdDrawMeshTasksIndirectEXT, "")        \
  X(CmdEndQuery, "")                        \
  X(CmdEndRenderPass, "")                   \
  X(CmdEndRendering, "KHR")                 \
  X(CmdEndTransformFeedbackEXT, "")         \
  X(CmdExecuteCommands, "")                 \
  X(CmdFillBuffer, "")                      \
  X(CmdNextSubpass, "")                     \
  X(CmdPipelineBarrier, "")                 \
  X(CmdPushConstants, "")                   \
  X(CmdResetQueryPool, "")                  \
  X(CmdUpdateBuffer, "")                    \
  X(CmdWriteTimestamp, "")                  \
  X(CreateBuffer, "")                       \
  X(CreateComputePipelines, "")             \
  X(CreateDescriptorSetLayout, "")          \
  X(CreateGraphicsPipelines, "")            \
  X(CreatePipelineLayout, "")               \
  X(CreateQueryPool, "")                    \
  X(CreateRayTracingPipelinesKHR, "")       \
  X(CreateShaderModule, "")                 \
  X(CreateShadersEXT, "")                   \
  X(DestroyBuffer, "")                      \
  X(DestroyDescriptorSetLayout, "")         \
  X(DestroyDevice, "")                      \
  X(DestroyPipeline, "")                    \
  X(DestroyPipelineLayout, "")              \
  X(DestroyQueryPool, "")                   \
  X(DestroyShaderModule, "")                \
  X(EndCommandBuffer, "")                   \
  X(FreeMemory, "")                         \
  X(GetBufferDeviceAddress, "KHR")          \
  X(GetBufferMemoryRequirements, "")        \
  X(GetDeviceQueue, "")                     \
  X(GetQueryPoolResults, "")                \
  X(MapMemory, "")                          \
  X(QueueSubmit, "")                        \
  X(QueueSubmit2, "KHR")                    \
  X(QueueWaitIdle, "")                      \
  X(ResetQueryPool, "EXT")
TALLY_VK_TABLE(DeviceTable, TALLY_STAND_IN_DEVICE_FUNCTIONS)

struct Driver;

struct Instance {
  const Driver* driver;
  VkInstance handle;
  vk::NextInstance next_instance;
  // Looked up early: later the loader gives the lowest layer the functions of the highest one.
  InstanceTable next;
};

// A create info as the driver below gets it: without what only the stand-in knows.
struct DeviceInfoBelow {
  explicit DeviceInfoBelow(const VkDeviceCreateInfo& wanted);

  vk::ChainCopy chain;
  std::vector<const char*> extensions;
  std::vector<VkDeviceQueueCreateInfo> queues;
  VkPhysicalDeviceFeatures features{};  // where the application enables features without a chain
};

// Each driver derives its own, with what it keeps of a device.
struct Device {
  virtual ~Device() = default;
  // Takes out what is neither an extension nor a struct of the driver.
  virtual void adapt(const VkDeviceCreateInfo&, DeviceInfoBelow&) {}
  // The device exists.
  virtual void begin(const VkDeviceCreateInfo&) {}
  // It will be destroyed next.
  virtual void end() {}
  virtual bool has_command(std::string_view) const { return true; }

  const Instance* instance = nullptr;
  VkPhysicalDevice gpu = VK_NULL_HANDLE;
  VkDevice handle = VK_NULL_HANDLE;
  vk::NextDevice next_device;
  DeviceTable next;
  std::mutex mutex;  // guards what commands and objects change
};

using Hooks = std::vector<vk::Hook>;

struct Driver {
  std::vector<VkExtensionProperties> extensions;
  // Structs of features and properties that the driver below does not get.
  std::vector<VkStructureType> structs;
  void (*add_features)(VkPhysicalDeviceFeatures2& features);
  void (*add_properties)(VkPhysicalDevice gpu, VkPhysicalDeviceProperties2& properties);
  std::unique_ptr<Device> (*make_device)();
  vk::HookTable hooks;
};

Instance& instance_of(const void* handle);
Device& find_device(const void* handle);

// vkDestroyQueryPool, for devices that know some pools.
template <typename DeviceOfDriver>
VKAPI_ATTR void VKAPI_CALL destroy_pool(VkDevice handle, VkQueryPool pool,
                                        const VkAllocationCallbacks* allocator) {
  auto& device = static_cast<DeviceOfDriver&>(find_device(handle));
  {
    const std::lock_guard lock(device.mutex);
    device.pools.erase(pool);
  }
  device.next.DestroyQueryPool(handle, pool, allocator);
}

// For what an application never does, but a layer may.
[[noreturn]] void fail(const char* what);

// True if the SPIR-V is a variant that counts: it has names that begin with "tally.".
bool is_instrumented(const void* code, size_t size);

// The flags of a pipeline's create info.
template <typename Info>
uint64_t pipeline_flags(const Info& info) {
  const auto* newer = vk::find_in_chain<VkPipelineCreateFlags2CreateInfoKHR>(
      info.pNext, VK_STRUCTURE_TYPE_PIPELINE_CREATE_FLAGS_2_CREATE_INFO_KHR);
  return newer ? newer->flags : info.flags;
}

}  // namespace tally::test
