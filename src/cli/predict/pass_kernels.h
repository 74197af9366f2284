// The Vulkan functions of `tally calibrate`, and the render passes that run its kernels as fragment
// shaders.
#pragma once

#include <fmt/format.h>
#include <vulkan/vulkan_core.h>

#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "vk/layer.h"

namespace tally::cli {

// The Vulkan functions of `tally calibrate`, and what its kernels of both kinds need of them.

#define TALLY_CALIBRATE_INSTANCE_FUNCTIONS(X)   \
  X(DestroyInstance, "")                        \
  X(EnumeratePhysicalDevices, "")               \
  X(GetPhysicalDeviceProperties2, "")           \
  X(GetPhysicalDeviceFeatures, "")              \
  X(GetPhysicalDeviceQueueFamilyProperties, "") \
  X(GetPhysicalDeviceMemoryProperties, "")      \
  X(CreateDevice, "")                           \
  X(GetDeviceProcAddr, "")

#define TALLY_CALIBRATE_DEVICE_FUNCTIONS(X) \
  X(DestroyDevice, "")                      \
  X(DeviceWaitIdle, "")                     \
  X(GetDeviceQueue, "")                     \
  X(CreateBuffer, "")                       \
  X(DestroyBuffer, "")                      \
  X(GetBufferMemoryRequirements, "")        \
  X(BindBufferMemory, "")                   \
  X(CreateImage, "")                        \
  X(DestroyImage, "")                       \
  X(GetImageMemoryRequirements, "")         \
  X(BindImageMemory, "")                    \
  X(CreateImageView, "")                    \
  X(DestroyImageView, "")                   \
  X(CreateSampler, "")                      \
  X(DestroySampler, "")                     \
  X(AllocateMemory, "")                     \
  X(FreeMemory, "")                         \
  X(CreateDescriptorSetLayout, "")          \
  X(DestroyDescriptorSetLayout, "")         \
  X(CreateDescriptorPool, "")               \
  X(DestroyDescriptorPool, "")              \
  X(AllocateDescriptorSets, "")             \
  X(UpdateDescriptorSets, "")               \
  X(CreatePipelineLayout, "")               \
  X(DestroyPipelineLayout, "")              \
  X(CreateShaderModule, "")                 \
  X(DestroyShaderModule, "")                \
  X(CreateComputePipelines, "")             \
  X(CreateGraphicsPipelines, "")            \
  X(DestroyPipeline, "")                    \
  X(GetPipelineExecutablePropertiesKHR, "") \
  X(GetPipelineExecutableStatisticsKHR, "") \
  X(CreateRenderPass, "")                   \
  X(DestroyRenderPass, "")                  \
  X(CreateFramebuffer, "")                  \
  X(DestroyFramebuffer, "")                 \
  X(CreateCommandPool, "")                  \
  X(DestroyCommandPool, "")                 \
  X(AllocateCommandBuffers, "")             \
  X(BeginCommandBuffer, "")                 \
  X(EndCommandBuffer, "")                   \
  X(CmdBindPipeline, "")                    \
  X(CmdBindDescriptorSets, "")              \
  X(CmdPushConstants, "")                   \
  X(CmdDispatch, "")                        \
  X(CmdBeginRenderPass, "")                 \
  X(CmdDraw, "")                            \
  X(CmdEndRenderPass, "")                   \
  X(CmdFillBuffer, "")                      \
  X(CmdClearColorImage, "")                 \
  X(CmdPipelineBarrier, "")                 \
  X(CmdResetQueryPool, "")                  \
  X(CmdWriteTimestamp, "")                  \
  X(CreateQueryPool, "")                    \
  X(DestroyQueryPool, "")                   \
  X(GetQueryPoolResults, "")                \
  X(CreateFence, "")                        \
  X(DestroyFence, "")                       \
  X(ResetFences, "")                        \
  X(WaitForFences, "")                      \
  X(QueueSubmit, "")

TALLY_VK_TABLE(InstanceFunctions, TALLY_CALIBRATE_INSTANCE_FUNCTIONS)
TALLY_VK_TABLE(DeviceFunctions, TALLY_CALIBRATE_DEVICE_FUNCTIONS)

// The outcome of a call of this name; only VK_SUCCESS is a success.
inline Status status_of(const char* call, VkResult result) {
  if (result == VK_SUCCESS) return {};
  return Error{fmt::format("{} failed: VkResult {}", call, static_cast<int>(result))};
}

inline Result<VkShaderModule> make_module(const DeviceFunctions& vk, VkDevice device,
                                          std::span<const uint32_t> words) {
  VkShaderModuleCreateInfo info{VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO};
  info.codeSize = words.size_bytes();
  info.pCode = words.data();
  VkShaderModule module = VK_NULL_HANDLE;
  TALLY_TRY(
      status_of("vkCreateShaderModule", vk.CreateShaderModule(device, &info, nullptr, &module)));
  return module;
}

// One render pass: it clears `size` x `size` pixels and stores them.
struct KernelPass {
  uint32_t size = 0;
  uint32_t draws = 0;
  uint32_t first_vertex =
      0;                  // 0: the first triangle covers the pass; otherwise none covers a pixel
  uint32_t vertices = 3;  // of a draw
};

class PassKernels {
 public:
  static constexpr uint32_t kSize = 1024;  // of the picture; the largest `size`
  static constexpr VkFormat kFormat = VK_FORMAT_R8G8B8A8_UNORM;

  // The picture's `view`, the device and its functions outlive this.
  Status create(const DeviceFunctions& vk, VkDevice device, VkImageView view,
                VkPipelineLayout layout);
  void destroy();

  // The fragment shader `words` behind vertices that count nothing. It lives until destroy().
  Result<VkPipeline> make(std::span<const uint32_t> words);
  // Descriptors and push constants are set; `pipeline` may be null where nothing is drawn.
  void record(VkCommandBuffer commands, VkPipeline pipeline, const KernelPass& pass) const;

 private:
  const DeviceFunctions* vk_ = nullptr;
  VkDevice device_ = VK_NULL_HANDLE;
  VkPipelineLayout layout_ = VK_NULL_HANDLE;
  VkRenderPass pass_ = VK_NULL_HANDLE;
  VkFramebuffer framebuffer_ = VK_NULL_HANDLE;
  std::vector<VkPipeline> pipelines_;
};

}  // namespace tally::cli
