// The functions of the next layer that the capture layer calls.
#pragma once

#include <tally/vulkan_arm.h>
#include <tally/vulkan_generated.h>
#include <tally/vulkan_newer.h>
#include <tally/vulkan_newest.h>

#include "vk/layer.h"

namespace tally::capture {

#define TALLY_CAPTURE_INSTANCE_FUNCTIONS(X)                               \
  X(CreateDebugUtilsMessengerEXT, "")                                     \
  X(DestroyDebugUtilsMessengerEXT, "")                                    \
  X(DestroyInstance, "")                                                  \
  X(EnumerateDeviceExtensionProperties, "")                               \
  X(EnumeratePhysicalDeviceQueueFamilyPerformanceCountersByRegionARM, "") \
  X(EnumeratePhysicalDeviceShaderInstrumentationMetricsARM, "")           \
  X(GetPhysicalDeviceFeatures2, "KHR")                                    \
  X(GetPhysicalDeviceFormatProperties, "")                                \
  X(GetPhysicalDeviceImageFormatProperties, "")                           \
  X(GetPhysicalDeviceMemoryProperties, "")                                \
  X(GetPhysicalDeviceProperties, "")                                      \
  X(GetPhysicalDeviceProperties2, "KHR")                                  \
  X(GetPhysicalDeviceQueueFamilyProperties, "")                           \
  X(GetPhysicalDeviceSurfaceCapabilitiesKHR, "")

#define TALLY_CAPTURE_DEVICE_FUNCTIONS(X)            \
  X(AllocateCommandBuffers, "")                      \
  X(AllocateDescriptorSets, "")                      \
  X(AllocateMemory, "")                              \
  X(BeginCommandBuffer, "")                          \
  X(BindBufferMemory, "")                            \
  X(BindImageMemory, "")                             \
  X(ClearShaderInstrumentationMetricsARM, "")        \
  X(CmdBeginConditionalRenderingEXT, "")             \
  X(CmdBeginConditionalRendering2EXT, "")            \
  X(CmdBeginRenderPass, "")                          \
  X(CmdBeginRenderPass2, "KHR")                      \
  X(CmdBeginRendering, "KHR")                        \
  X(CmdBeginShaderInstrumentationARM, "")            \
  X(CmdBindDescriptorBufferEmbeddedSamplers2EXT, "") \
  X(CmdBindDescriptorBufferEmbeddedSamplersEXT, "")  \
  X(CmdBindDescriptorSets, "")                       \
  X(CmdBindDescriptorSets2, "KHR")                   \
  X(CmdBindPipeline, "")                             \
  X(CmdBindPipelineShaderGroupNV, "")                \
  X(CmdBindResourceHeapEXT, "")                      \
  X(CmdBindShadersEXT, "")                           \
  X(CmdCopyImageToBuffer, "")                        \
  X(CmdCopyQueryPoolResults, "")                     \
  X(CmdDebugMarkerBeginEXT, "")                      \
  X(CmdDebugMarkerEndEXT, "")                        \
  X(CmdDispatch, "")                                 \
  X(CmdDispatchBase, "KHR")                          \
  X(CmdDispatchIndirect, "")                         \
  X(CmdDispatchIndirect2KHR, "")                     \
  X(CmdDispatchTileQCOM, "")                         \
  X(CmdDraw, "")                                     \
  X(CmdDrawClusterHUAWEI, "")                        \
  X(CmdDrawClusterIndirectHUAWEI, "")                \
  X(CmdDrawIndexed, "")                              \
  X(CmdDrawIndexedIndirect, "")                      \
  X(CmdDrawIndexedIndirectCount, "KHR")              \
  X(CmdDrawIndexedIndirect2KHR, "")                  \
  X(CmdDrawIndexedIndirectCount2KHR, "")             \
  X(CmdDrawIndirect, "")                             \
  X(CmdDrawIndirect2KHR, "")                         \
  X(CmdDrawIndirectByteCount2EXT, "")                \
  X(CmdDrawIndirectCount2KHR, "")                    \
  X(CmdDrawMeshTasksIndirect2EXT, "")                \
  X(CmdDrawMeshTasksIndirectCount2EXT, "")           \
  X(CmdDrawIndirectByteCountEXT, "")                 \
  X(CmdDrawIndirectCount, "KHR")                     \
  X(CmdDrawMeshTasksEXT, "")                         \
  X(CmdDrawMeshTasksIndirectCountEXT, "")            \
  X(CmdDrawMeshTasksIndirectCountNV, "")             \
  X(CmdDrawMeshTasksIndirectEXT, "")                 \
  X(CmdDrawMeshTasksIndirectNV, "")                  \
  X(CmdDrawMeshTasksNV, "")                          \
  X(CmdDrawMultiEXT, "")                             \
  X(CmdDrawMultiIndexedEXT, "")                      \
  X(CmdEndConditionalRenderingEXT, "")               \
  X(CmdEndRenderPass, "")                            \
  X(CmdEndRenderPass2, "KHR")                        \
  X(CmdEndRendering, "KHR")                          \
  X(CmdEndRendering2EXT, "")                         \
  X(CmdEndRendering2KHR, "")                         \
  X(CmdEndShaderInstrumentationARM, "")              \
  X(CmdExecuteCommands, "")                          \
  X(CmdExecuteGeneratedCommandsEXT, "")              \
  X(CmdExecuteGeneratedCommandsNV, "")               \
  X(CmdNextSubpass, "")                              \
  X(CmdNextSubpass2, "KHR")                          \
  X(CmdPipelineBarrier, "")                          \
  X(CmdPushConstants, "")                            \
  X(CmdPushConstants2KHR, "")                        \
  X(CmdPushDataEXT, "")                              \
  X(CmdPushDescriptorSet, "KHR")                     \
  X(CmdPushDescriptorSet2, "KHR")                    \
  X(CmdPushDescriptorSetWithTemplate, "KHR")         \
  X(CmdPushDescriptorSetWithTemplate2, "KHR")        \
  X(CmdResetQueryPool, "")                           \
  X(CmdResolveImage, "")                             \
  X(CmdSetDescriptorBufferOffsets2EXT, "")           \
  X(CmdSetDescriptorBufferOffsetsEXT, "")            \
  X(CmdSetPatchControlPointsEXT, "")                 \
  X(CmdSetPrimitiveRestartEnable, "EXT")             \
  X(CmdSetPrimitiveTopology, "EXT")                  \
  X(CmdSubpassShadingHUAWEI, "")                     \
  X(CmdTraceRaysIndirect2KHR, "")                    \
  X(CmdTraceRaysIndirectKHR, "")                     \
  X(CmdTraceRaysKHR, "")                             \
  X(CmdTraceRaysNV, "")                              \
  X(CmdWriteTimestamp, "")                           \
  X(CreateBuffer, "")                                \
  X(CreateCommandPool, "")                           \
  X(CreateComputePipelines, "")                      \
  X(CreateDescriptorSetLayout, "")                   \
  X(CreateDescriptorUpdateTemplate, "KHR")           \
  X(CreateFramebuffer, "")                           \
  X(CreateGraphicsPipelines, "")                     \
  X(CreateImage, "")                                 \
  X(CreateImageView, "")                             \
  X(CreateIndirectExecutionSetEXT, "")               \
  X(CreatePipelineLayout, "")                        \
  X(CreateQueryPool, "")                             \
  X(CreateRayTracingPipelinesKHR, "")                \
  X(CreateRenderPass, "")                            \
  X(CreateRenderPass2, "KHR")                        \
  X(CreateSemaphore, "")                             \
  X(CreateShaderInstrumentationARM, "")              \
  X(CreateShaderModule, "")                          \
  X(CreateShadersEXT, "")                            \
  X(CreateSwapchainKHR, "")                          \
  X(DebugMarkerSetObjectNameEXT, "")                 \
  X(DestroyBuffer, "")                               \
  X(DestroyCommandPool, "")                          \
  X(DestroyDescriptorPool, "")                       \
  X(DestroyDescriptorSetLayout, "")                  \
  X(DestroyDescriptorUpdateTemplate, "KHR")          \
  X(DestroyDevice, "")                               \
  X(DestroyPipelineLayout, "")                       \
  X(DestroySemaphore, "")                            \
  X(DestroyFramebuffer, "")                          \
  X(DestroyImage, "")                                \
  X(DestroyImageView, "")                            \
  X(DestroyIndirectExecutionSetEXT, "")              \
  X(DestroyPipeline, "")                             \
  X(DestroyQueryPool, "")                            \
  X(DestroyRenderPass, "")                           \
  X(DestroyShaderEXT, "")                            \
  X(DestroyShaderInstrumentationARM, "")             \
  X(DestroyShaderModule, "")                         \
  X(DestroySwapchainKHR, "")                         \
  X(DeviceWaitIdle, "")                              \
  X(EndCommandBuffer, "")                            \
  X(FreeCommandBuffers, "")                          \
  X(FreeDescriptorSets, "")                          \
  X(FreeMemory, "")                                  \
  X(GetBufferDeviceAddress, "KHR")                   \
  X(GetBufferMemoryRequirements, "")                 \
  X(GetDeviceImageMemoryRequirements, "KHR")         \
  X(GetDeviceImageSparseMemoryRequirements, "KHR")   \
  X(GetDeviceQueue, "")                              \
  X(GetDeviceQueue2, "")                             \
  X(GetFenceStatus, "")                              \
  X(GetImageMemoryRequirements, "")                  \
  X(GetPipelineExecutablePropertiesKHR, "")          \
  X(GetPipelineExecutableStatisticsKHR, "")          \
  X(GetQueryPoolResults, "")                         \
  X(GetSemaphoreCounterValue, "KHR")                 \
  X(GetShaderBinaryDataEXT, "")                      \
  X(GetShaderInstrumentationValuesARM, "")           \
  X(GetSwapchainImagesKHR, "")                       \
  X(MapMemory, "")                                   \
  X(QueueBindSparse, "")                             \
  X(QueuePresentKHR, "")                             \
  X(QueueSubmit, "")                                 \
  X(QueueSubmit2, "KHR")                             \
  X(QueueWaitIdle, "")                               \
  X(ResetCommandBuffer, "")                          \
  X(ResetCommandPool, "")                            \
  X(ResetDescriptorPool, "")                         \
  X(ResetQueryPool, "EXT")                           \
  X(UpdateDescriptorSetWithTemplate, "KHR")          \
  X(UpdateDescriptorSets, "")                        \
  X(UpdateIndirectExecutionSetPipelineEXT, "")       \
  X(UpdateIndirectExecutionSetShaderEXT, "")         \
  X(WaitForFences, "")                               \
  X(WaitSemaphores, "KHR")

TALLY_VK_TABLE(InstanceTable, TALLY_CAPTURE_INSTANCE_FUNCTIONS)
TALLY_VK_TABLE(DeviceTable, TALLY_CAPTURE_DEVICE_FUNCTIONS)

}  // namespace tally::capture
