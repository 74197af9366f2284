/* The parts that Tally uses of Vulkan extensions that no driver of Debian 12 has. As
 * vulkan_newer.h: each block is skipped if the installed vulkan_core.h declares the extension
 * itself. C and C++. */
#ifndef TALLY_VULKAN_NEWEST_H
#define TALLY_VULKAN_NEWEST_H

#include <vulkan/vulkan_core.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef VK_KHR_device_address_commands
#define VK_KHR_device_address_commands 1
#define VK_KHR_DEVICE_ADDRESS_COMMANDS_SPEC_VERSION 1
#define VK_KHR_DEVICE_ADDRESS_COMMANDS_EXTENSION_NAME "VK_KHR_device_address_commands"
#define VK_STRUCTURE_TYPE_DEVICE_MEMORY_COPY_KHR ((VkStructureType)1000318000)
#define VK_STRUCTURE_TYPE_COPY_DEVICE_MEMORY_INFO_KHR ((VkStructureType)1000318001)
#define VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DEVICE_ADDRESS_COMMANDS_FEATURES_KHR \
  ((VkStructureType)1000318006)
#define VK_STRUCTURE_TYPE_BIND_INDEX_BUFFER_3_INFO_KHR ((VkStructureType)1000318007)
#define VK_STRUCTURE_TYPE_DRAW_INDIRECT_2_INFO_KHR ((VkStructureType)1000318009)
#define VK_STRUCTURE_TYPE_DRAW_INDIRECT_COUNT_2_INFO_KHR ((VkStructureType)1000318010)
#define VK_STRUCTURE_TYPE_DISPATCH_INDIRECT_2_INFO_KHR ((VkStructureType)1000318011)
#define VK_STRUCTURE_TYPE_CONDITIONAL_RENDERING_BEGIN_INFO_2_EXT ((VkStructureType)1000318012)
#define VK_STRUCTURE_TYPE_BIND_TRANSFORM_FEEDBACK_BUFFER_2_INFO_EXT ((VkStructureType)1000318013)

typedef VkFlags VkAddressCommandFlagsKHR;
#define VK_ADDRESS_COMMAND_FULLY_BOUND_BIT_KHR 0x00000002
#define VK_ADDRESS_COMMAND_STORAGE_BUFFER_USAGE_BIT_KHR 0x00000004

typedef struct VkDeviceAddressRangeKHR {
  VkDeviceAddress address;
  VkDeviceSize size;
} VkDeviceAddressRangeKHR;

typedef struct VkStridedDeviceAddressRangeKHR {
  VkDeviceAddress address;
  VkDeviceSize size;
  VkDeviceSize stride;
} VkStridedDeviceAddressRangeKHR;

typedef struct VkDeviceMemoryCopyKHR {
  VkStructureType sType;
  const void* pNext;
  VkDeviceAddressRangeKHR srcRange;
  VkAddressCommandFlagsKHR srcFlags;
  VkDeviceAddressRangeKHR dstRange;
  VkAddressCommandFlagsKHR dstFlags;
} VkDeviceMemoryCopyKHR;

typedef struct VkCopyDeviceMemoryInfoKHR {
  VkStructureType sType;
  const void* pNext;
  uint32_t regionCount;
  const VkDeviceMemoryCopyKHR* pRegions;
} VkCopyDeviceMemoryInfoKHR;

typedef struct VkPhysicalDeviceDeviceAddressCommandsFeaturesKHR {
  VkStructureType sType;
  void* pNext;
  VkBool32 deviceAddressCommands;
} VkPhysicalDeviceDeviceAddressCommandsFeaturesKHR;

typedef struct VkBindIndexBuffer3InfoKHR {
  VkStructureType sType;
  const void* pNext;
  VkDeviceAddressRangeKHR addressRange;
  VkAddressCommandFlagsKHR addressFlags;
  VkIndexType indexType;
} VkBindIndexBuffer3InfoKHR;

typedef struct VkBindVertexBuffer3InfoKHR {
  VkStructureType sType;
  const void* pNext;
  VkBool32 setStride;
  VkStridedDeviceAddressRangeKHR addressRange;
  VkAddressCommandFlagsKHR addressFlags;
} VkBindVertexBuffer3InfoKHR;

typedef struct VkDrawIndirect2InfoKHR {
  VkStructureType sType;
  const void* pNext;
  VkStridedDeviceAddressRangeKHR addressRange;
  VkAddressCommandFlagsKHR addressFlags;
  uint32_t drawCount;
} VkDrawIndirect2InfoKHR;

typedef struct VkDrawIndirectCount2InfoKHR {
  VkStructureType sType;
  const void* pNext;
  VkStridedDeviceAddressRangeKHR addressRange;
  VkAddressCommandFlagsKHR addressFlags;
  VkDeviceAddressRangeKHR countAddressRange;
  VkAddressCommandFlagsKHR countAddressFlags;
  uint32_t maxDrawCount;
} VkDrawIndirectCount2InfoKHR;

typedef struct VkDispatchIndirect2InfoKHR {
  VkStructureType sType;
  const void* pNext;
  VkDeviceAddressRangeKHR addressRange;
  VkAddressCommandFlagsKHR addressFlags;
} VkDispatchIndirect2InfoKHR;

typedef struct VkConditionalRenderingBeginInfo2EXT {
  VkStructureType sType;
  const void* pNext;
  VkDeviceAddressRangeKHR addressRange;
  VkAddressCommandFlagsKHR addressFlags;
  VkConditionalRenderingFlagsEXT flags;
} VkConditionalRenderingBeginInfo2EXT;

typedef struct VkBindTransformFeedbackBuffer2InfoEXT {
  VkStructureType sType;
  const void* pNext;
  VkDeviceAddressRangeKHR addressRange;
  VkAddressCommandFlagsKHR addressFlags;
} VkBindTransformFeedbackBuffer2InfoEXT;

/* Only passed through: Tally does not read the members. */
typedef struct VkCopyDeviceMemoryImageInfoKHR VkCopyDeviceMemoryImageInfoKHR;

typedef void(VKAPI_PTR* PFN_vkCmdBindIndexBuffer3KHR)(VkCommandBuffer commandBuffer,
                                                      const VkBindIndexBuffer3InfoKHR* pInfo);
typedef void(VKAPI_PTR* PFN_vkCmdBindVertexBuffers3KHR)(
    VkCommandBuffer commandBuffer, uint32_t firstBinding, uint32_t bindingCount,
    const VkBindVertexBuffer3InfoKHR* pBindingInfos);
typedef void(VKAPI_PTR* PFN_vkCmdDrawIndirect2KHR)(VkCommandBuffer commandBuffer,
                                                   const VkDrawIndirect2InfoKHR* pInfo);
typedef void(VKAPI_PTR* PFN_vkCmdDrawIndexedIndirect2KHR)(VkCommandBuffer commandBuffer,
                                                          const VkDrawIndirect2InfoKHR* pInfo);
typedef void(VKAPI_PTR* PFN_vkCmdDispatchIndirect2KHR)(VkCommandBuffer commandBuffer,
                                                       const VkDispatchIndirect2InfoKHR* pInfo);
typedef void(VKAPI_PTR* PFN_vkCmdCopyMemoryKHR)(VkCommandBuffer commandBuffer,
                                                const VkCopyDeviceMemoryInfoKHR* pCopyMemoryInfo);
typedef void(VKAPI_PTR* PFN_vkCmdCopyMemoryToImageKHR)(
    VkCommandBuffer commandBuffer, const VkCopyDeviceMemoryImageInfoKHR* pCopyMemoryInfo);
typedef void(VKAPI_PTR* PFN_vkCmdCopyImageToMemoryKHR)(
    VkCommandBuffer commandBuffer, const VkCopyDeviceMemoryImageInfoKHR* pCopyMemoryInfo);
typedef void(VKAPI_PTR* PFN_vkCmdUpdateMemoryKHR)(VkCommandBuffer commandBuffer,
                                                  const VkDeviceAddressRangeKHR* pDstRange,
                                                  VkAddressCommandFlagsKHR dstFlags,
                                                  VkDeviceSize dataSize, const void* pData);
typedef void(VKAPI_PTR* PFN_vkCmdFillMemoryKHR)(VkCommandBuffer commandBuffer,
                                                const VkDeviceAddressRangeKHR* pDstRange,
                                                VkAddressCommandFlagsKHR dstFlags, uint32_t data);
typedef void(VKAPI_PTR* PFN_vkCmdCopyQueryPoolResultsToMemoryKHR)(
    VkCommandBuffer commandBuffer, VkQueryPool queryPool, uint32_t firstQuery, uint32_t queryCount,
    const VkStridedDeviceAddressRangeKHR* pDstRange, VkAddressCommandFlagsKHR dstFlags,
    VkQueryResultFlags queryResultFlags);
typedef void(VKAPI_PTR* PFN_vkCmdDrawIndirectCount2KHR)(VkCommandBuffer commandBuffer,
                                                        const VkDrawIndirectCount2InfoKHR* pInfo);
typedef void(VKAPI_PTR* PFN_vkCmdDrawIndexedIndirectCount2KHR)(
    VkCommandBuffer commandBuffer, const VkDrawIndirectCount2InfoKHR* pInfo);
typedef void(VKAPI_PTR* PFN_vkCmdBeginConditionalRendering2EXT)(
    VkCommandBuffer commandBuffer,
    const VkConditionalRenderingBeginInfo2EXT* pConditionalRenderingBegin);
typedef void(VKAPI_PTR* PFN_vkCmdBindTransformFeedbackBuffers2EXT)(
    VkCommandBuffer commandBuffer, uint32_t firstBinding, uint32_t bindingCount,
    const VkBindTransformFeedbackBuffer2InfoEXT* pBindingInfos);
typedef void(VKAPI_PTR* PFN_vkCmdBeginTransformFeedback2EXT)(
    VkCommandBuffer commandBuffer, uint32_t firstCounterRange, uint32_t counterRangeCount,
    const VkBindTransformFeedbackBuffer2InfoEXT* pCounterInfos);
typedef void(VKAPI_PTR* PFN_vkCmdEndTransformFeedback2EXT)(
    VkCommandBuffer commandBuffer, uint32_t firstCounterRange, uint32_t counterRangeCount,
    const VkBindTransformFeedbackBuffer2InfoEXT* pCounterInfos);
typedef void(VKAPI_PTR* PFN_vkCmdDrawIndirectByteCount2EXT)(
    VkCommandBuffer commandBuffer, uint32_t instanceCount, uint32_t firstInstance,
    const VkBindTransformFeedbackBuffer2InfoEXT* pCounterInfo, uint32_t counterOffset,
    uint32_t vertexStride);
typedef void(VKAPI_PTR* PFN_vkCmdDrawMeshTasksIndirect2EXT)(VkCommandBuffer commandBuffer,
                                                            const VkDrawIndirect2InfoKHR* pInfo);
typedef void(VKAPI_PTR* PFN_vkCmdDrawMeshTasksIndirectCount2EXT)(
    VkCommandBuffer commandBuffer, const VkDrawIndirectCount2InfoKHR* pInfo);
#endif /* VK_KHR_device_address_commands */

#ifndef VK_EXT_descriptor_heap
#define VK_EXT_descriptor_heap 1
#define VK_EXT_DESCRIPTOR_HEAP_SPEC_VERSION 1
#define VK_EXT_DESCRIPTOR_HEAP_EXTENSION_NAME "VK_EXT_descriptor_heap"
#define VK_STRUCTURE_TYPE_IMAGE_DESCRIPTOR_INFO_EXT ((VkStructureType)1000135001)
#define VK_STRUCTURE_TYPE_RESOURCE_DESCRIPTOR_INFO_EXT ((VkStructureType)1000135002)
#define VK_STRUCTURE_TYPE_BIND_HEAP_INFO_EXT ((VkStructureType)1000135003)
#define VK_STRUCTURE_TYPE_PUSH_DATA_INFO_EXT ((VkStructureType)1000135004)
#define VK_STRUCTURE_TYPE_DESCRIPTOR_SET_AND_BINDING_MAPPING_EXT ((VkStructureType)1000135005)
#define VK_STRUCTURE_TYPE_SHADER_DESCRIPTOR_SET_AND_BINDING_MAPPING_INFO_EXT \
  ((VkStructureType)1000135006)
#define VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DESCRIPTOR_HEAP_PROPERTIES_EXT \
  ((VkStructureType)1000135008)
#define VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DESCRIPTOR_HEAP_FEATURES_EXT ((VkStructureType)1000135009)
#define VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_DESCRIPTOR_HEAP_INFO_EXT \
  ((VkStructureType)1000135010)
#define VK_BUFFER_USAGE_DESCRIPTOR_HEAP_BIT_EXT ((VkBufferUsageFlagBits)0x10000000)
#define VK_PIPELINE_CREATE_2_DESCRIPTOR_HEAP_BIT_EXT 0x1000000000ULL
#define VK_SHADER_CREATE_DESCRIPTOR_HEAP_BIT_EXT 0x00000400

typedef VkDeviceAddressRangeKHR VkDeviceAddressRangeEXT;
typedef VkFlags VkSpirvResourceTypeFlagsEXT;
#define VK_SPIRV_RESOURCE_TYPE_ALL_EXT 0x7FFFFFFF

typedef enum VkDescriptorMappingSourceEXT {
  VK_DESCRIPTOR_MAPPING_SOURCE_HEAP_WITH_CONSTANT_OFFSET_EXT = 0,
  VK_DESCRIPTOR_MAPPING_SOURCE_HEAP_WITH_PUSH_INDEX_EXT = 1,
  VK_DESCRIPTOR_MAPPING_SOURCE_HEAP_WITH_INDIRECT_INDEX_EXT = 2,
  VK_DESCRIPTOR_MAPPING_SOURCE_HEAP_WITH_INDIRECT_INDEX_ARRAY_EXT = 3,
  VK_DESCRIPTOR_MAPPING_SOURCE_RESOURCE_HEAP_DATA_EXT = 4,
  VK_DESCRIPTOR_MAPPING_SOURCE_PUSH_DATA_EXT = 5,
  VK_DESCRIPTOR_MAPPING_SOURCE_PUSH_ADDRESS_EXT = 6,
  VK_DESCRIPTOR_MAPPING_SOURCE_INDIRECT_ADDRESS_EXT = 7,
  VK_DESCRIPTOR_MAPPING_SOURCE_HEAP_WITH_SHADER_RECORD_INDEX_EXT = 8,
  VK_DESCRIPTOR_MAPPING_SOURCE_SHADER_RECORD_DATA_EXT = 9,
  VK_DESCRIPTOR_MAPPING_SOURCE_SHADER_RECORD_ADDRESS_EXT = 10,
  VK_DESCRIPTOR_MAPPING_SOURCE_MAX_ENUM_EXT = 0x7FFFFFFF
} VkDescriptorMappingSourceEXT;

typedef struct VkHostAddressRangeEXT {
  void* address;
  size_t size;
} VkHostAddressRangeEXT;

typedef struct VkHostAddressRangeConstEXT {
  const void* address;
  size_t size;
} VkHostAddressRangeConstEXT;

typedef struct VkImageDescriptorInfoEXT {
  VkStructureType sType;
  const void* pNext;
  const VkImageViewCreateInfo* pView;
  VkImageLayout layout;
} VkImageDescriptorInfoEXT;

/* Tally writes descriptors of buffers and images alone. */
typedef union VkResourceDescriptorDataEXT {
  const VkImageDescriptorInfoEXT* pImage;
  const void* pTexelBuffer;
  const VkDeviceAddressRangeEXT* pAddressRange;
  const void* pTensorARM;
} VkResourceDescriptorDataEXT;

typedef struct VkResourceDescriptorInfoEXT {
  VkStructureType sType;
  const void* pNext;
  VkDescriptorType type;
  VkResourceDescriptorDataEXT data;
} VkResourceDescriptorInfoEXT;

typedef struct VkBindHeapInfoEXT {
  VkStructureType sType;
  const void* pNext;
  VkDeviceAddressRangeEXT heapRange;
  VkDeviceSize reservedRangeOffset;
  VkDeviceSize reservedRangeSize;
} VkBindHeapInfoEXT;

typedef struct VkPushDataInfoEXT {
  VkStructureType sType;
  const void* pNext;
  uint32_t offset;
  VkHostAddressRangeConstEXT data;
} VkPushDataInfoEXT;

typedef struct VkDescriptorMappingSourceConstantOffsetEXT {
  uint32_t heapOffset;
  uint32_t heapArrayStride;
  const VkSamplerCreateInfo* pEmbeddedSampler;
  uint32_t samplerHeapOffset;
  uint32_t samplerHeapArrayStride;
} VkDescriptorMappingSourceConstantOffsetEXT;

typedef struct VkDescriptorMappingSourcePushIndexEXT {
  uint32_t heapOffset;
  uint32_t pushOffset;
  uint32_t heapIndexStride;
  uint32_t heapArrayStride;
  const VkSamplerCreateInfo* pEmbeddedSampler;
  VkBool32 useCombinedImageSamplerIndex;
  uint32_t samplerHeapOffset;
  uint32_t samplerPushOffset;
  uint32_t samplerHeapIndexStride;
  uint32_t samplerHeapArrayStride;
} VkDescriptorMappingSourcePushIndexEXT;

typedef struct VkDescriptorMappingSourceIndirectIndexEXT {
  uint32_t heapOffset;
  uint32_t pushOffset;
  uint32_t addressOffset;
  uint32_t heapIndexStride;
  uint32_t heapArrayStride;
  const VkSamplerCreateInfo* pEmbeddedSampler;
  VkBool32 useCombinedImageSamplerIndex;
  uint32_t samplerHeapOffset;
  uint32_t samplerPushOffset;
  uint32_t samplerAddressOffset;
  uint32_t samplerHeapIndexStride;
  uint32_t samplerHeapArrayStride;
} VkDescriptorMappingSourceIndirectIndexEXT;

typedef struct VkDescriptorMappingSourceIndirectIndexArrayEXT {
  uint32_t heapOffset;
  uint32_t pushOffset;
  uint32_t addressOffset;
  uint32_t heapIndexStride;
  const VkSamplerCreateInfo* pEmbeddedSampler;
  VkBool32 useCombinedImageSamplerIndex;
  uint32_t samplerHeapOffset;
  uint32_t samplerPushOffset;
  uint32_t samplerAddressOffset;
  uint32_t samplerHeapIndexStride;
} VkDescriptorMappingSourceIndirectIndexArrayEXT;

typedef struct VkDescriptorMappingSourceHeapDataEXT {
  uint32_t heapOffset;
  uint32_t pushOffset;
} VkDescriptorMappingSourceHeapDataEXT;

typedef struct VkDescriptorMappingSourceShaderRecordIndexEXT {
  uint32_t heapOffset;
  uint32_t shaderRecordOffset;
  uint32_t heapIndexStride;
  uint32_t heapArrayStride;
  const VkSamplerCreateInfo* pEmbeddedSampler;
  VkBool32 useCombinedImageSamplerIndex;
  uint32_t samplerHeapOffset;
  uint32_t samplerShaderRecordOffset;
  uint32_t samplerHeapIndexStride;
  uint32_t samplerHeapArrayStride;
} VkDescriptorMappingSourceShaderRecordIndexEXT;

typedef struct VkDescriptorMappingSourceIndirectAddressEXT {
  uint32_t pushOffset;
  uint32_t addressOffset;
} VkDescriptorMappingSourceIndirectAddressEXT;

typedef union VkDescriptorMappingSourceDataEXT {
  VkDescriptorMappingSourceConstantOffsetEXT constantOffset;
  VkDescriptorMappingSourcePushIndexEXT pushIndex;
  VkDescriptorMappingSourceIndirectIndexEXT indirectIndex;
  VkDescriptorMappingSourceIndirectIndexArrayEXT indirectIndexArray;
  VkDescriptorMappingSourceHeapDataEXT heapData;
  uint32_t pushDataOffset;
  uint32_t pushAddressOffset;
  VkDescriptorMappingSourceIndirectAddressEXT indirectAddress;
  VkDescriptorMappingSourceShaderRecordIndexEXT shaderRecordIndex;
  uint32_t shaderRecordDataOffset;
  uint32_t shaderRecordAddressOffset;
} VkDescriptorMappingSourceDataEXT;

typedef struct VkDescriptorSetAndBindingMappingEXT {
  VkStructureType sType;
  const void* pNext;
  uint32_t descriptorSet;
  uint32_t firstBinding;
  uint32_t bindingCount;
  VkSpirvResourceTypeFlagsEXT resourceMask;
  VkDescriptorMappingSourceEXT source;
  VkDescriptorMappingSourceDataEXT sourceData;
} VkDescriptorSetAndBindingMappingEXT;

typedef struct VkShaderDescriptorSetAndBindingMappingInfoEXT {
  VkStructureType sType;
  const void* pNext;
  uint32_t mappingCount;
  const VkDescriptorSetAndBindingMappingEXT* pMappings;
} VkShaderDescriptorSetAndBindingMappingInfoEXT;

typedef struct VkPhysicalDeviceDescriptorHeapFeaturesEXT {
  VkStructureType sType;
  void* pNext;
  VkBool32 descriptorHeap;
  VkBool32 descriptorHeapCaptureReplay;
} VkPhysicalDeviceDescriptorHeapFeaturesEXT;

typedef struct VkPhysicalDeviceDescriptorHeapPropertiesEXT {
  VkStructureType sType;
  void* pNext;
  VkDeviceSize samplerHeapAlignment;
  VkDeviceSize resourceHeapAlignment;
  VkDeviceSize maxSamplerHeapSize;
  VkDeviceSize maxResourceHeapSize;
  VkDeviceSize minSamplerHeapReservedRange;
  VkDeviceSize minSamplerHeapReservedRangeWithEmbedded;
  VkDeviceSize minResourceHeapReservedRange;
  VkDeviceSize samplerDescriptorSize;
  VkDeviceSize imageDescriptorSize;
  VkDeviceSize bufferDescriptorSize;
  VkDeviceSize samplerDescriptorAlignment;
  VkDeviceSize imageDescriptorAlignment;
  VkDeviceSize bufferDescriptorAlignment;
  VkDeviceSize maxPushDataSize;
  size_t imageCaptureReplayOpaqueDataSize;
  uint32_t maxDescriptorHeapEmbeddedSamplers;
  uint32_t samplerYcbcrConversionCount;
  VkBool32 sparseDescriptorHeaps;
  VkBool32 protectedDescriptorHeaps;
} VkPhysicalDeviceDescriptorHeapPropertiesEXT;

typedef struct VkCommandBufferInheritanceDescriptorHeapInfoEXT {
  VkStructureType sType;
  const void* pNext;
  const VkBindHeapInfoEXT* pSamplerHeapBindInfo;
  const VkBindHeapInfoEXT* pResourceHeapBindInfo;
} VkCommandBufferInheritanceDescriptorHeapInfoEXT;

typedef VkResult(VKAPI_PTR* PFN_vkWriteSamplerDescriptorsEXT)(
    VkDevice device, uint32_t samplerCount, const VkSamplerCreateInfo* pSamplers,
    const VkHostAddressRangeEXT* pDescriptors);
typedef VkResult(VKAPI_PTR* PFN_vkWriteResourceDescriptorsEXT)(
    VkDevice device, uint32_t resourceCount, const VkResourceDescriptorInfoEXT* pResources,
    const VkHostAddressRangeEXT* pDescriptors);
typedef void(VKAPI_PTR* PFN_vkCmdBindSamplerHeapEXT)(VkCommandBuffer commandBuffer,
                                                     const VkBindHeapInfoEXT* pBindInfo);
typedef void(VKAPI_PTR* PFN_vkCmdBindResourceHeapEXT)(VkCommandBuffer commandBuffer,
                                                      const VkBindHeapInfoEXT* pBindInfo);
typedef void(VKAPI_PTR* PFN_vkCmdPushDataEXT)(VkCommandBuffer commandBuffer,
                                              const VkPushDataInfoEXT* pPushDataInfo);
#endif /* VK_EXT_descriptor_heap */

#ifndef VK_EXT_primitive_restart_index
#define VK_EXT_primitive_restart_index 1
#define VK_EXT_PRIMITIVE_RESTART_INDEX_SPEC_VERSION 1
#define VK_EXT_PRIMITIVE_RESTART_INDEX_EXTENSION_NAME "VK_EXT_primitive_restart_index"
#define VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PRIMITIVE_RESTART_INDEX_FEATURES_EXT \
  ((VkStructureType)1000678000)

typedef struct VkPhysicalDevicePrimitiveRestartIndexFeaturesEXT {
  VkStructureType sType;
  void* pNext;
  VkBool32 primitiveRestartIndex;
} VkPhysicalDevicePrimitiveRestartIndexFeaturesEXT;

typedef void(VKAPI_PTR* PFN_vkCmdSetPrimitiveRestartIndexEXT)(VkCommandBuffer commandBuffer,
                                                              uint32_t primitiveRestartIndex);
#endif /* VK_EXT_primitive_restart_index */

#ifndef VK_KHR_maintenance10
#define VK_KHR_maintenance10 1
/* Only passed through: Tally does not read the members. Also in VK_EXT_fragment_density_map_offset.
 */
typedef struct VkRenderingEndInfoKHR VkRenderingEndInfoKHR;
typedef void(VKAPI_PTR* PFN_vkCmdEndRendering2KHR)(VkCommandBuffer commandBuffer,
                                                   const VkRenderingEndInfoKHR* pRenderingEndInfo);
#endif /* VK_KHR_maintenance10 */

#ifndef VK_EXT_fragment_density_map_offset
#define VK_EXT_fragment_density_map_offset 1
typedef void(VKAPI_PTR* PFN_vkCmdEndRendering2EXT)(VkCommandBuffer commandBuffer,
                                                   const VkRenderingEndInfoKHR* pRenderingEndInfo);
#endif /* VK_EXT_fragment_density_map_offset */

/* Commands of VK_EXT_descriptor_buffer that came with VK_KHR_maintenance6. vulkan_newer.h declares
 * what Tally uses of the latter. */
#ifndef VK_VERSION_1_4
typedef struct VkSetDescriptorBufferOffsetsInfoEXT VkSetDescriptorBufferOffsetsInfoEXT;
typedef struct VkBindDescriptorBufferEmbeddedSamplersInfoEXT
    VkBindDescriptorBufferEmbeddedSamplersInfoEXT;
typedef void(VKAPI_PTR* PFN_vkCmdSetDescriptorBufferOffsets2EXT)(
    VkCommandBuffer commandBuffer,
    const VkSetDescriptorBufferOffsetsInfoEXT* pSetDescriptorBufferOffsetsInfo);
typedef void(VKAPI_PTR* PFN_vkCmdBindDescriptorBufferEmbeddedSamplers2EXT)(
    VkCommandBuffer commandBuffer,
    const VkBindDescriptorBufferEmbeddedSamplersInfoEXT* pBindDescriptorBufferEmbeddedSamplersInfo);
#endif

#ifndef VK_NV_cooperative_vector
#define VK_NV_cooperative_vector 1
/* Only passed through: Tally does not read the members. */
typedef struct VkConvertCooperativeVectorMatrixInfoNV VkConvertCooperativeVectorMatrixInfoNV;
typedef void(VKAPI_PTR* PFN_vkCmdConvertCooperativeVectorMatrixNV)(
    VkCommandBuffer commandBuffer, uint32_t infoCount,
    const VkConvertCooperativeVectorMatrixInfoNV* pInfos);
#endif /* VK_NV_cooperative_vector */

#ifndef VK_KHR_copy_memory_indirect
#define VK_KHR_copy_memory_indirect 1
/* Only passed through: Tally does not read the members. */
typedef struct VkCopyMemoryIndirectInfoKHR VkCopyMemoryIndirectInfoKHR;
typedef struct VkCopyMemoryToImageIndirectInfoKHR VkCopyMemoryToImageIndirectInfoKHR;
typedef void(VKAPI_PTR* PFN_vkCmdCopyMemoryIndirectKHR)(
    VkCommandBuffer commandBuffer, const VkCopyMemoryIndirectInfoKHR* pCopyMemoryIndirectInfo);
typedef void(VKAPI_PTR* PFN_vkCmdCopyMemoryToImageIndirectKHR)(
    VkCommandBuffer commandBuffer,
    const VkCopyMemoryToImageIndirectInfoKHR* pCopyMemoryToImageIndirectInfo);
#endif /* VK_KHR_copy_memory_indirect */

#ifndef VK_ARM_tensors
#define VK_ARM_tensors 1
/* Only passed through: Tally does not read the members. */
typedef struct VkCopyTensorInfoARM VkCopyTensorInfoARM;
typedef void(VKAPI_PTR* PFN_vkCmdCopyTensorARM)(VkCommandBuffer commandBuffer,
                                                const VkCopyTensorInfoARM* pCopyTensorInfo);
#endif /* VK_ARM_tensors */

#ifndef VK_EXT_memory_decompression
#define VK_EXT_memory_decompression 1
typedef VkFlags64 VkMemoryDecompressionMethodFlagsEXT;
/* Only passed through: Tally does not read the members. */
typedef struct VkDecompressMemoryInfoEXT VkDecompressMemoryInfoEXT;
typedef void(VKAPI_PTR* PFN_vkCmdDecompressMemoryEXT)(
    VkCommandBuffer commandBuffer, const VkDecompressMemoryInfoEXT* pDecompressMemoryInfoEXT);
typedef void(VKAPI_PTR* PFN_vkCmdDecompressMemoryIndirectCountEXT)(
    VkCommandBuffer commandBuffer, VkMemoryDecompressionMethodFlagsEXT decompressionMethod,
    VkDeviceAddress indirectCommandsAddress, VkDeviceAddress indirectCommandsCountAddress,
    uint32_t maxDecompressionCount, uint32_t stride);
#endif /* VK_EXT_memory_decompression */

#ifndef VK_QCOM_elapsed_timer_query
#define VK_QCOM_elapsed_timer_query 1
#define VK_QCOM_ELAPSED_TIMER_QUERY_SPEC_VERSION 1
#define VK_QCOM_ELAPSED_TIMER_QUERY_EXTENSION_NAME "VK_QCOM_elapsed_timer_query"
#define VK_QUERY_TYPE_TIME_ELAPSED_QCOM ((VkQueryType)1000173000)
#define VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ELAPSED_TIMER_QUERY_FEATURES_QCOM \
  ((VkStructureType)1000173000)

typedef struct VkPhysicalDeviceElapsedTimerQueryFeaturesQCOM {
  VkStructureType sType;
  void* pNext;
  VkBool32 elapsedTimerQuery;
} VkPhysicalDeviceElapsedTimerQueryFeaturesQCOM;
#endif

#ifndef VK_QCOM_tile_shading
#define VK_QCOM_tile_shading 1
typedef struct VkDispatchTileInfoQCOM {
  VkStructureType sType;
  const void* pNext;
} VkDispatchTileInfoQCOM;
typedef void(VKAPI_PTR* PFN_vkCmdDispatchTileQCOM)(VkCommandBuffer commandBuffer,
                                                   const VkDispatchTileInfoQCOM* pDispatchTileInfo);
#endif /* VK_QCOM_tile_shading */

#ifndef VK_KHR_pipeline_binary
#define VK_KHR_pipeline_binary 1
#define VK_KHR_PIPELINE_BINARY_EXTENSION_NAME "VK_KHR_pipeline_binary"
#define VK_MAX_PIPELINE_BINARY_KEY_SIZE_KHR 32U
#define VK_STRUCTURE_TYPE_PIPELINE_BINARY_CREATE_INFO_KHR ((VkStructureType)1000483001)
#define VK_STRUCTURE_TYPE_PIPELINE_BINARY_INFO_KHR ((VkStructureType)1000483002)
#define VK_STRUCTURE_TYPE_PIPELINE_BINARY_KEY_KHR ((VkStructureType)1000483003)
#define VK_STRUCTURE_TYPE_PIPELINE_CREATE_INFO_KHR ((VkStructureType)1000483007)
#define VK_STRUCTURE_TYPE_PIPELINE_BINARY_HANDLES_INFO_KHR ((VkStructureType)1000483009)

VK_DEFINE_NON_DISPATCHABLE_HANDLE(VkPipelineBinaryKHR)

typedef struct VkPhysicalDevicePipelineBinaryFeaturesKHR {
  VkStructureType sType;
  void* pNext;
  VkBool32 pipelineBinaries;
} VkPhysicalDevicePipelineBinaryFeaturesKHR;

/* Its chain holds the create info of a pipeline. */
typedef struct VkPipelineCreateInfoKHR {
  VkStructureType sType;
  void* pNext;
} VkPipelineCreateInfoKHR;

typedef struct VkPipelineBinaryKeyKHR {
  VkStructureType sType;
  void* pNext;
  uint32_t keySize;
  uint8_t key[VK_MAX_PIPELINE_BINARY_KEY_SIZE_KHR];
} VkPipelineBinaryKeyKHR;

typedef struct VkPipelineBinaryDataKHR {
  size_t dataSize;
  void* pData;
} VkPipelineBinaryDataKHR;

typedef struct VkPipelineBinaryKeysAndDataKHR {
  uint32_t binaryCount;
  const VkPipelineBinaryKeyKHR* pPipelineBinaryKeys;
  const VkPipelineBinaryDataKHR* pPipelineBinaryData;
} VkPipelineBinaryKeysAndDataKHR;

typedef struct VkPipelineBinaryCreateInfoKHR {
  VkStructureType sType;
  const void* pNext;
  const VkPipelineBinaryKeysAndDataKHR* pKeysAndDataInfo;
  VkPipeline pipeline;
  const VkPipelineCreateInfoKHR* pPipelineCreateInfo;
} VkPipelineBinaryCreateInfoKHR;

/* Extends the create info of a pipeline. */
typedef struct VkPipelineBinaryInfoKHR {
  VkStructureType sType;
  const void* pNext;
  uint32_t binaryCount;
  const VkPipelineBinaryKHR* pPipelineBinaries;
} VkPipelineBinaryInfoKHR;

typedef struct VkPipelineBinaryDataInfoKHR {
  VkStructureType sType;
  void* pNext;
  VkPipelineBinaryKHR pipelineBinary;
} VkPipelineBinaryDataInfoKHR;

typedef struct VkPipelineBinaryHandlesInfoKHR {
  VkStructureType sType;
  const void* pNext;
  uint32_t pipelineBinaryCount;
  VkPipelineBinaryKHR* pPipelineBinaries;
} VkPipelineBinaryHandlesInfoKHR;

typedef VkResult(VKAPI_PTR* PFN_vkCreatePipelineBinariesKHR)(
    VkDevice device, const VkPipelineBinaryCreateInfoKHR* pCreateInfo,
    const VkAllocationCallbacks* pAllocator, VkPipelineBinaryHandlesInfoKHR* pBinaries);
typedef VkResult(VKAPI_PTR* PFN_vkGetPipelineKeyKHR)(
    VkDevice device, const VkPipelineCreateInfoKHR* pPipelineCreateInfo,
    VkPipelineBinaryKeyKHR* pPipelineKey);
#endif /* VK_KHR_pipeline_binary */

#ifndef VK_KHR_extended_flags
#define VK_KHR_extended_flags 1
#define VK_STRUCTURE_TYPE_IMAGE_CREATE_FLAGS_2_CREATE_INFO_KHR ((VkStructureType)1000668001)
#define VK_STRUCTURE_TYPE_IMAGE_USAGE_FLAGS_2_CREATE_INFO_KHR ((VkStructureType)1000668002)

/* Extends VkImageCreateInfo; replaces its flags. */
typedef struct VkImageCreateFlags2CreateInfoKHR {
  VkStructureType sType;
  void* pNext;
  VkFlags64 flags;
} VkImageCreateFlags2CreateInfoKHR;

/* Extends VkImageCreateInfo, VkSwapchainCreateInfoKHR and VkFramebufferAttachmentImageInfo;
 * replaces their usage. */
typedef struct VkImageUsageFlags2CreateInfoKHR {
  VkStructureType sType;
  void* pNext;
  VkFlags64 usage;
} VkImageUsageFlags2CreateInfoKHR;
#endif /* VK_KHR_extended_flags */

#ifndef VK_KHR_internally_synchronized_queues
#define VK_KHR_internally_synchronized_queues 1
#define VK_KHR_INTERNALLY_SYNCHRONIZED_QUEUES_EXTENSION_NAME "VK_KHR_internally_synchronized_queues"
#define VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_INTERNALLY_SYNCHRONIZED_QUEUES_FEATURES_KHR \
  ((VkStructureType)1000504000)
#define VK_DEVICE_QUEUE_CREATE_INTERNALLY_SYNCHRONIZED_BIT_KHR 0x00000004

typedef struct VkPhysicalDeviceInternallySynchronizedQueuesFeaturesKHR {
  VkStructureType sType;
  void* pNext;
  VkBool32 internallySynchronizedQueues;
} VkPhysicalDeviceInternallySynchronizedQueuesFeaturesKHR;
#endif /* VK_KHR_internally_synchronized_queues */

#ifndef VK_EXT_custom_resolve
#define VK_EXT_custom_resolve 1
#define VK_EXT_CUSTOM_RESOLVE_EXTENSION_NAME "VK_EXT_custom_resolve"
#define VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_CUSTOM_RESOLVE_FEATURES_EXT ((VkStructureType)1000628000)
#define VK_STRUCTURE_TYPE_BEGIN_CUSTOM_RESOLVE_INFO_EXT ((VkStructureType)1000628001)
#define VK_STRUCTURE_TYPE_CUSTOM_RESOLVE_CREATE_INFO_EXT ((VkStructureType)1000628002)

typedef struct VkPhysicalDeviceCustomResolveFeaturesEXT {
  VkStructureType sType;
  void* pNext;
  VkBool32 customResolve;
} VkPhysicalDeviceCustomResolveFeaturesEXT;

typedef struct VkBeginCustomResolveInfoEXT {
  VkStructureType sType;
  void* pNext;
} VkBeginCustomResolveInfoEXT;

/* Extends VkGraphicsPipelineCreateInfo, VkCommandBufferInheritanceInfo and VkShaderCreateInfoEXT.
 */
typedef struct VkCustomResolveCreateInfoEXT {
  VkStructureType sType;
  const void* pNext;
  VkBool32 customResolve;
  uint32_t colorAttachmentCount;
  const VkFormat* pColorAttachmentFormats;
  VkFormat depthAttachmentFormat;
  VkFormat stencilAttachmentFormat;
} VkCustomResolveCreateInfoEXT;

typedef void(VKAPI_PTR* PFN_vkCmdBeginCustomResolveEXT)(
    VkCommandBuffer commandBuffer, const VkBeginCustomResolveInfoEXT* pBeginCustomResolveInfo);
#endif /* VK_EXT_custom_resolve */

#ifndef VK_EXT_shader_64bit_indexing
#define VK_EXT_shader_64bit_indexing 1
#define VK_EXT_SHADER_64BIT_INDEXING_EXTENSION_NAME "VK_EXT_shader_64bit_indexing"
#define VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_64_BIT_INDEXING_FEATURES_EXT \
  ((VkStructureType)1000627000)
#define VK_PIPELINE_CREATE_2_64_BIT_INDEXING_BIT_EXT 0x80000000000ULL

typedef struct VkPhysicalDeviceShader64BitIndexingFeaturesEXT {
  VkStructureType sType;
  void* pNext;
  VkBool32 shader64BitIndexing;
} VkPhysicalDeviceShader64BitIndexingFeaturesEXT;
#endif /* VK_EXT_shader_64bit_indexing */

#ifndef VK_EXT_pipeline_library_group_handles
#define VK_EXT_pipeline_library_group_handles 1
#define VK_EXT_PIPELINE_LIBRARY_GROUP_HANDLES_EXTENSION_NAME "VK_EXT_pipeline_library_group_handles"
#define VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PIPELINE_LIBRARY_GROUP_HANDLES_FEATURES_EXT \
  ((VkStructureType)1000498000)

typedef struct VkPhysicalDevicePipelineLibraryGroupHandlesFeaturesEXT {
  VkStructureType sType;
  void* pNext;
  VkBool32 pipelineLibraryGroupHandles;
} VkPhysicalDevicePipelineLibraryGroupHandlesFeaturesEXT;
#endif /* VK_EXT_pipeline_library_group_handles */

#ifdef __cplusplus
}
#endif

#endif /* TALLY_VULKAN_NEWEST_H */
