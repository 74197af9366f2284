// The Vulkan functions of `tally calibrate`, and what its kernels of both kinds need of them.
#pragma once

#include <fmt/format.h>
#include <vulkan/vulkan_core.h>

#include <span>

#include "base/status.h"
#include "vk/layer.h"

namespace tally::cli {

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

inline Error call_failure(const char* call, VkResult result) {
  return Error{fmt::format("{} failed: VkResult {}", call, static_cast<int>(result))};
}

inline Result<VkShaderModule> make_module(const DeviceFunctions& vk, VkDevice device,
                                          std::span<const uint32_t> words) {
  VkShaderModuleCreateInfo info{VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO};
  info.codeSize = words.size_bytes();
  info.pCode = words.data();
  VkShaderModule module = VK_NULL_HANDLE;
  if (const VkResult result = vk.CreateShaderModule(device, &info, nullptr, &module);
      result != VK_SUCCESS)
    return call_failure("vkCreateShaderModule", result);
  return module;
}

}  // namespace tally::cli
