// The functions of the next layer. Rows are (name, suffix on older devices); see vk/layer.h.
#pragma once

#include <vulkan/vulkan_core.h>

#include <tally/vulkan_arm.h>
#include <tally/vulkan_generated.h>
#include <tally/vulkan_newer.h>
#include <tally/vulkan_newest.h>

#include "vk/layer.h"

namespace tally::counters {

#define TALLY_COUNTERS_INSTANCE_FUNCTIONS(X)                              \
  X(DestroyInstance, "")                                                  \
  X(EnumeratePhysicalDevices, "")                                         \
  X(EnumerateDeviceExtensionProperties, "")                               \
  X(EnumeratePhysicalDeviceQueueFamilyPerformanceCountersByRegionARM, "") \
  X(EnumeratePhysicalDeviceQueueFamilyPerformanceQueryCountersKHR, "")    \
  X(EnumeratePhysicalDeviceShaderInstrumentationMetricsARM, "")           \
  X(GetPhysicalDeviceQueueFamilyPerformanceQueryPassesKHR, "")            \
  X(GetPhysicalDeviceProperties, "")                                      \
  X(GetPhysicalDeviceProperties2, "KHR")                                  \
  X(GetPhysicalDeviceFeatures, "")                                        \
  X(GetPhysicalDeviceFeatures2, "KHR")                                    \
  X(GetPhysicalDeviceMemoryProperties, "")                                \
  X(GetPhysicalDeviceQueueFamilyProperties, "")                           \
  X(GetPhysicalDeviceQueueFamilyProperties2, "KHR")                       \
  X(CreateDebugUtilsMessengerEXT, "")                                     \
  X(DestroyDebugUtilsMessengerEXT, "")

// Action commands. Each takes one result index of shader instrumentation.
#define TALLY_COUNTERS_ACTION_FUNCTIONS(X) \
  X(CmdDispatch, "")                       \
  X(CmdDispatchBase, "KHR")                \
  X(CmdDispatchIndirect, "")               \
  X(CmdDispatchIndirect2KHR, "")           \
  X(CmdDispatchTileQCOM, "")               \
  X(CmdDraw, "")                           \
  X(CmdDrawClusterHUAWEI, "")              \
  X(CmdDrawClusterIndirectHUAWEI, "")      \
  X(CmdDrawIndexed, "")                    \
  X(CmdDrawIndexedIndirect, "")            \
  X(CmdDrawIndexedIndirectCount, "KHR")    \
  X(CmdDrawIndexedIndirectCountAMD, "")    \
  X(CmdDrawIndirect, "")                   \
  X(CmdDrawIndirect2KHR, "")               \
  X(CmdDrawIndirectByteCount2EXT, "")      \
  X(CmdDrawIndirectCount2KHR, "")          \
  X(CmdDrawIndexedIndirect2KHR, "")        \
  X(CmdDrawIndexedIndirectCount2KHR, "")   \
  X(CmdDrawMeshTasksIndirect2EXT, "")      \
  X(CmdDrawMeshTasksIndirectCount2EXT, "") \
  X(CmdDrawIndirectByteCountEXT, "")       \
  X(CmdDrawIndirectCount, "KHR")           \
  X(CmdDrawIndirectCountAMD, "")           \
  X(CmdDrawMeshTasksEXT, "")               \
  X(CmdDrawMeshTasksIndirectCountEXT, "")  \
  X(CmdDrawMeshTasksIndirectCountNV, "")   \
  X(CmdDrawMeshTasksIndirectEXT, "")       \
  X(CmdDrawMeshTasksIndirectNV, "")        \
  X(CmdDrawMeshTasksNV, "")                \
  X(CmdDrawMultiEXT, "")                   \
  X(CmdDrawMultiIndexedEXT, "")            \
  X(CmdExecuteGeneratedCommandsEXT, "")    \
  X(CmdExecuteGeneratedCommandsNV, "")     \
  X(CmdTraceRaysIndirect2KHR, "")          \
  X(CmdTraceRaysIndirectKHR, "")           \
  X(CmdTraceRaysKHR, "")                   \
  X(CmdTraceRaysNV, "")

// Performance queries of the driver.
#define TALLY_COUNTERS_PERFORMANCE_FUNCTIONS(X) \
  X(AcquirePerformanceConfigurationINTEL, "")   \
  X(AcquireProfilingLockKHR, "")                \
  X(CmdSetPerformanceMarkerINTEL, "")           \
  X(CmdSetPerformanceOverrideINTEL, "")         \
  X(CmdSetPerformanceStreamMarkerINTEL, "")     \
  X(GetPerformanceParameterINTEL, "")           \
  X(InitializePerformanceApiINTEL, "")          \
  X(QueueSetPerformanceConfigurationINTEL, "")  \
  X(ReleasePerformanceConfigurationINTEL, "")   \
  X(ReleaseProfilingLockKHR, "")                \
  X(UninitializePerformanceApiINTEL, "")

// Commands that performance queries count.
#define TALLY_COUNTERS_COUNTED_FUNCTIONS(X)          \
  X(CmdBindDescriptorBufferEmbeddedSamplersEXT, "")  \
  X(CmdBindDescriptorBufferEmbeddedSamplers2EXT, "") \
  X(CmdBindDescriptorSets2, "KHR")                   \
  X(CmdBindIndexBuffer, "")                          \
  X(CmdBindIndexBuffer2, "KHR")                      \
  X(CmdBindVertexBuffers, "")                        \
  X(CmdBindVertexBuffers2, "EXT")                    \
  X(CmdBindVertexBuffers3KHR, "")                    \
  X(CmdBlitImage, "")                                \
  X(CmdBlitImage2, "KHR")                            \
  X(CmdClearAttachments, "")                         \
  X(CmdClearColorImage, "")                          \
  X(CmdClearDepthStencilImage, "")                   \
  X(CmdConvertCooperativeVectorMatrixNV, "")         \
  X(CmdCopyBuffer2, "KHR")                           \
  X(CmdCopyBufferToImage, "")                        \
  X(CmdCopyBufferToImage2, "KHR")                    \
  X(CmdCopyImage, "")                                \
  X(CmdCopyImage2, "KHR")                            \
  X(CmdCopyImageToBuffer, "")                        \
  X(CmdCopyImageToBuffer2, "KHR")                    \
  X(CmdCopyImageToMemoryKHR, "")                     \
  X(CmdCopyMemoryIndirectKHR, "")                    \
  X(CmdCopyMemoryIndirectNV, "")                     \
  X(CmdCopyMemoryKHR, "")                            \
  X(CmdCopyMemoryToImageIndirectKHR, "")             \
  X(CmdCopyMemoryToImageIndirectNV, "")              \
  X(CmdCopyMemoryToImageKHR, "")                     \
  X(CmdCopyTensorARM, "")                            \
  X(CmdDecompressMemoryEXT, "")                      \
  X(CmdDecompressMemoryIndirectCountEXT, "")         \
  X(CmdDecompressMemoryIndirectCountNV, "")          \
  X(CmdDecompressMemoryNV, "")                       \
  X(CmdFillMemoryKHR, "")                            \
  X(CmdPipelineBarrier2, "KHR")                      \
  X(CmdPushDescriptorSet, "KHR")                     \
  X(CmdPushDescriptorSet2, "KHR")                    \
  X(CmdPushDescriptorSetWithTemplate, "KHR")         \
  X(CmdPushDescriptorSetWithTemplate2, "KHR")        \
  X(CmdResolveImage, "")                             \
  X(CmdResolveImage2, "KHR")                         \
  X(CmdSetDescriptorBufferOffsets2EXT, "")           \
  X(CmdSetDescriptorBufferOffsetsEXT, "")            \
  X(CmdUpdateBuffer, "")                             \
  X(CmdUpdateMemoryKHR, "")                          \
  X(CmdWaitEvents, "")                               \
  X(CmdWaitEvents2, "KHR")

#define TALLY_COUNTERS_DEVICE_FUNCTIONS(X)         \
  TALLY_COUNTERS_ACTION_FUNCTIONS(X)               \
  TALLY_COUNTERS_COUNTED_FUNCTIONS(X)              \
  TALLY_COUNTERS_PERFORMANCE_FUNCTIONS(X)          \
  X(AllocateCommandBuffers, "")                    \
  X(AllocateDescriptorSets, "")                    \
  X(AllocateMemory, "")                            \
  X(BeginCommandBuffer, "")                        \
  X(BindBufferMemory, "")                          \
  X(CmdBeginQuery, "")                             \
  X(CmdBeginQueryIndexedEXT, "")                   \
  X(CmdBeginRenderPass, "")                        \
  X(CmdBeginRenderPass2, "KHR")                    \
  X(CmdBeginRendering, "KHR")                      \
  X(CmdBeginTransformFeedback2EXT, "")             \
  X(CmdBeginTransformFeedbackEXT, "")              \
  X(CmdBindIndexBuffer3KHR, "")                    \
  X(CmdBindDescriptorBuffersEXT, "")               \
  X(CmdBindDescriptorSets, "")                     \
  X(CmdBindPipeline, "")                           \
  X(CmdBindPipelineShaderGroupNV, "")              \
  X(CmdBindResourceHeapEXT, "")                    \
  X(CmdBindSamplerHeapEXT, "")                     \
  X(CmdBindShadersEXT, "")                         \
  X(CmdBindTransformFeedbackBuffers2EXT, "")       \
  X(CmdBindTransformFeedbackBuffersEXT, "")        \
  X(CmdCopyBuffer, "")                             \
  X(CmdCopyQueryPoolResults, "")                   \
  X(CmdCopyQueryPoolResultsToMemoryKHR, "")        \
  X(CmdEndQuery, "")                               \
  X(CmdEndQueryIndexedEXT, "")                     \
  X(CmdEndRenderPass, "")                          \
  X(CmdEndRenderPass2, "KHR")                      \
  X(CmdEndRendering, "KHR")                        \
  X(CmdEndRendering2EXT, "")                       \
  X(CmdEndRendering2KHR, "")                       \
  X(CmdEndTransformFeedback2EXT, "")               \
  X(CmdEndTransformFeedbackEXT, "")                \
  X(CmdExecuteCommands, "")                        \
  X(CmdFillBuffer, "")                             \
  X(CmdNextSubpass, "")                            \
  X(CmdNextSubpass2, "KHR")                        \
  X(CmdPipelineBarrier, "")                        \
  X(CmdPreprocessGeneratedCommandsEXT, "")         \
  X(CmdPushConstants, "")                          \
  X(CmdPushConstants2, "KHR")                      \
  X(CmdPushDataEXT, "")                            \
  X(CmdResetQueryPool, "")                         \
  X(CmdSetAlphaToCoverageEnableEXT, "")            \
  X(CmdSetDepthBoundsTestEnable, "EXT")            \
  X(CmdSetDepthCompareOp, "EXT")                   \
  X(CmdSetDepthTestEnable, "EXT")                  \
  X(CmdSetPatchControlPointsEXT, "")               \
  X(CmdSetPrimitiveRestartEnable, "EXT")           \
  X(CmdSetPrimitiveRestartIndexEXT, "")            \
  X(CmdSetPrimitiveTopology, "EXT")                \
  X(CmdSetRasterizationSamplesEXT, "")             \
  X(CmdSetRasterizerDiscardEnable, "EXT")          \
  X(CmdSetStencilTestEnable, "EXT")                \
  X(CmdWriteTimestamp, "")                         \
  X(CmdWriteTimestamp2, "KHR")                     \
  X(CmdBeginConditionalRendering2EXT, "")          \
  X(CmdBeginConditionalRenderingEXT, "")           \
  X(CmdEndConditionalRenderingEXT, "")             \
  X(CreateBuffer, "")                              \
  X(CreateCommandPool, "")                         \
  X(CreateComputePipelines, "")                    \
  X(CreateDescriptorPool, "")                      \
  X(CreateDescriptorSetLayout, "")                 \
  X(CreateFence, "")                               \
  X(CreateFramebuffer, "")                         \
  X(CreateGraphicsPipelines, "")                   \
  X(CreatePipelineCache, "")                       \
  X(CreatePipelineBinariesKHR, "")                 \
  X(CreatePipelineLayout, "")                      \
  X(CreateQueryPool, "")                           \
  X(CreateRayTracingPipelinesKHR, "")              \
  X(CreateRenderPass, "")                          \
  X(CreateRenderPass2, "KHR")                      \
  X(CreateSemaphore, "")                           \
  X(CreateShaderModule, "")                        \
  X(CreateShadersEXT, "")                          \
  X(DebugMarkerSetObjectNameEXT, "")               \
  X(DebugMarkerSetObjectTagEXT, "")                \
  X(DestroyBuffer, "")                             \
  X(DestroyCommandPool, "")                        \
  X(DestroyDescriptorPool, "")                     \
  X(DestroyDescriptorSetLayout, "")                \
  X(DestroyDevice, "")                             \
  X(DestroyFence, "")                              \
  X(DestroyFramebuffer, "")                        \
  X(DestroyPipeline, "")                           \
  X(DestroyPipelineCache, "")                      \
  X(DestroyPipelineLayout, "")                     \
  X(DestroyQueryPool, "")                          \
  X(DestroyRenderPass, "")                         \
  X(DestroySemaphore, "")                          \
  X(DestroyShaderModule, "")                       \
  X(DeviceWaitIdle, "")                            \
  X(EndCommandBuffer, "")                          \
  X(FlushMappedMemoryRanges, "")                   \
  X(FreeCommandBuffers, "")                        \
  X(FreeMemory, "")                                \
  X(GetBufferDeviceAddress, "KHR")                 \
  X(GetBufferDeviceAddressEXT, "")                 \
  X(GetBufferMemoryRequirements, "")               \
  X(GetDeviceBufferMemoryRequirements, "KHR")      \
  X(GetDeviceQueue, "")                            \
  X(GetDeviceQueue2, "")                           \
  X(GetQueryPoolResults, "")                       \
  X(GetFenceStatus, "")                            \
  X(GetPipelineCacheData, "")                      \
  X(GetPipelineKeyKHR, "")                         \
  X(GetSemaphoreCounterValue, "KHR")               \
  X(GetPrivateData, "EXT")                         \
  X(InvalidateMappedMemoryRanges, "")              \
  X(MapMemory, "")                                 \
  X(MergePipelineCaches, "")                       \
  X(QueueBindSparse, "")                           \
  X(QueuePresentKHR, "")                           \
  X(QueueSubmit, "")                               \
  X(QueueSubmit2, "KHR")                           \
  X(QueueWaitIdle, "")                             \
  X(ResetCommandBuffer, "")                        \
  X(ResetCommandPool, "")                          \
  X(ResetFences, "")                               \
  X(ResetQueryPool, "EXT")                         \
  X(SetDebugUtilsObjectNameEXT, "")                \
  X(SetDebugUtilsObjectTagEXT, "")                 \
  X(SetPrivateData, "EXT")                         \
  X(UpdateDescriptorSets, "")                      \
  X(DestroyShaderEXT, "")                          \
  X(GetShaderBinaryDataEXT, "")                    \
  X(GetGeneratedCommandsMemoryRequirementsEXT, "") \
  X(CreateIndirectCommandsLayoutEXT, "")           \
  X(DestroyIndirectCommandsLayoutEXT, "")          \
  X(CreateIndirectExecutionSetEXT, "")             \
  X(DestroyIndirectExecutionSetEXT, "")            \
  X(UpdateIndirectExecutionSetPipelineEXT, "")     \
  X(UpdateIndirectExecutionSetShaderEXT, "")       \
  X(WaitForFences, "")                             \
  X(WaitSemaphores, "KHR")

TALLY_VK_TABLE(InstanceTable, TALLY_COUNTERS_INSTANCE_FUNCTIONS)
TALLY_VK_TABLE(DeviceTable, TALLY_COUNTERS_DEVICE_FUNCTIONS)

}  // namespace tally::counters
