/* The parts that Tally uses of Vulkan extensions newer than the headers of Debian 12 (1.3.239).
 * Each block is skipped if the installed vulkan_core.h declares the extension itself. C and C++. */
#ifndef TALLY_VULKAN_NEWER_H
#define TALLY_VULKAN_NEWER_H

#include <vulkan/vulkan_core.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef VK_KHR_maintenance5
#define VK_KHR_maintenance5 1
#define VK_KHR_MAINTENANCE_5_EXTENSION_NAME "VK_KHR_maintenance5"
#define VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_5_FEATURES_KHR ((VkStructureType)1000470000)
#define VK_STRUCTURE_TYPE_PIPELINE_CREATE_FLAGS_2_CREATE_INFO_KHR ((VkStructureType)1000470005)
#define VK_STRUCTURE_TYPE_BUFFER_USAGE_FLAGS_2_CREATE_INFO_KHR ((VkStructureType)1000470006)

typedef VkFlags64 VkPipelineCreateFlags2KHR;

typedef struct VkPhysicalDeviceMaintenance5FeaturesKHR {
  VkStructureType sType;
  void* pNext;
  VkBool32 maintenance5;
} VkPhysicalDeviceMaintenance5FeaturesKHR;

/* Extends VkGraphicsPipelineCreateInfo, VkComputePipelineCreateInfo,
 * VkRayTracingPipelineCreateInfoKHR; replaces their flags. */
typedef struct VkPipelineCreateFlags2CreateInfoKHR {
  VkStructureType sType;
  const void* pNext;
  VkPipelineCreateFlags2KHR flags;
} VkPipelineCreateFlags2CreateInfoKHR;

/* Extends VkBufferCreateInfo; replaces its usage. */
typedef struct VkBufferUsageFlags2CreateInfoKHR {
  VkStructureType sType;
  const void* pNext;
  VkFlags64 usage;
} VkBufferUsageFlags2CreateInfoKHR;
#endif /* VK_KHR_maintenance5 */

#ifndef VK_KHR_maintenance6
#define VK_KHR_maintenance6 1
#define VK_KHR_MAINTENANCE_6_EXTENSION_NAME "VK_KHR_maintenance6"
#define VK_STRUCTURE_TYPE_BIND_DESCRIPTOR_SETS_INFO_KHR ((VkStructureType)1000545003)
#define VK_STRUCTURE_TYPE_PUSH_DESCRIPTOR_SET_INFO_KHR ((VkStructureType)1000545005)
#define VK_STRUCTURE_TYPE_PUSH_DESCRIPTOR_SET_WITH_TEMPLATE_INFO_KHR ((VkStructureType)1000545006)

typedef struct VkPushConstantsInfoKHR {
  VkStructureType sType;
  const void* pNext;
  VkPipelineLayout layout;
  VkShaderStageFlags stageFlags;
  uint32_t offset;
  uint32_t size;
  const void* pValues;
} VkPushConstantsInfoKHR;

typedef struct VkBindDescriptorSetsInfoKHR {
  VkStructureType sType;
  const void* pNext;
  VkShaderStageFlags stageFlags;
  VkPipelineLayout layout;
  uint32_t firstSet;
  uint32_t descriptorSetCount;
  const VkDescriptorSet* pDescriptorSets;
  uint32_t dynamicOffsetCount;
  const uint32_t* pDynamicOffsets;
} VkBindDescriptorSetsInfoKHR;

typedef struct VkPushDescriptorSetInfoKHR {
  VkStructureType sType;
  const void* pNext;
  VkShaderStageFlags stageFlags;
  VkPipelineLayout layout;
  uint32_t set;
  uint32_t descriptorWriteCount;
  const VkWriteDescriptorSet* pDescriptorWrites;
} VkPushDescriptorSetInfoKHR;

typedef struct VkPushDescriptorSetWithTemplateInfoKHR {
  VkStructureType sType;
  const void* pNext;
  VkDescriptorUpdateTemplate descriptorUpdateTemplate;
  VkPipelineLayout layout;
  uint32_t set;
  const void* pData;
} VkPushDescriptorSetWithTemplateInfoKHR;

typedef void(VKAPI_PTR* PFN_vkCmdPushConstants2KHR)(
    VkCommandBuffer commandBuffer, const VkPushConstantsInfoKHR* pPushConstantsInfo);
#endif /* VK_KHR_maintenance6 */

/* Names of core Vulkan 1.4, which promoted the two extensions above. */
#ifndef VK_VERSION_1_4
typedef VkPipelineCreateFlags2KHR VkPipelineCreateFlags2;
typedef VkPipelineCreateFlags2CreateInfoKHR VkPipelineCreateFlags2CreateInfo;
typedef VkBufferUsageFlags2CreateInfoKHR VkBufferUsageFlags2CreateInfo;
typedef VkPhysicalDeviceMaintenance5FeaturesKHR VkPhysicalDeviceMaintenance5Features;
#define VK_STRUCTURE_TYPE_PIPELINE_CREATE_FLAGS_2_CREATE_INFO \
  VK_STRUCTURE_TYPE_PIPELINE_CREATE_FLAGS_2_CREATE_INFO_KHR

typedef PFN_vkCmdPushConstants2KHR PFN_vkCmdPushConstants2;
typedef PFN_vkCmdPushDescriptorSetKHR PFN_vkCmdPushDescriptorSet;
typedef PFN_vkCmdPushDescriptorSetWithTemplateKHR PFN_vkCmdPushDescriptorSetWithTemplate;

typedef VkBindDescriptorSetsInfoKHR VkBindDescriptorSetsInfo;
typedef VkPushDescriptorSetInfoKHR VkPushDescriptorSetInfo;
typedef VkPushDescriptorSetWithTemplateInfoKHR VkPushDescriptorSetWithTemplateInfo;
typedef void(VKAPI_PTR* PFN_vkCmdBindDescriptorSets2)(VkCommandBuffer commandBuffer,
                                                      const VkBindDescriptorSetsInfo* pInfo);
typedef void(VKAPI_PTR* PFN_vkCmdPushDescriptorSet2)(VkCommandBuffer commandBuffer,
                                                     const VkPushDescriptorSetInfo* pInfo);
typedef void(VKAPI_PTR* PFN_vkCmdPushDescriptorSetWithTemplate2)(
    VkCommandBuffer commandBuffer, const VkPushDescriptorSetWithTemplateInfo* pInfo);
typedef void(VKAPI_PTR* PFN_vkCmdBindIndexBuffer2)(VkCommandBuffer commandBuffer, VkBuffer buffer,
                                                   VkDeviceSize offset, VkDeviceSize size,
                                                   VkIndexType indexType);
#endif

#ifndef VK_EXT_device_generated_commands
#define VK_EXT_device_generated_commands 1
/* Only passed through: Tally does not read the members. */
typedef struct VkGeneratedCommandsInfoEXT VkGeneratedCommandsInfoEXT;

typedef void(VKAPI_PTR* PFN_vkCmdExecuteGeneratedCommandsEXT)(
    VkCommandBuffer commandBuffer, VkBool32 isPreprocessed,
    const VkGeneratedCommandsInfoEXT* pGeneratedCommandsInfo);
typedef void(VKAPI_PTR* PFN_vkCmdPreprocessGeneratedCommandsEXT)(
    VkCommandBuffer commandBuffer, const VkGeneratedCommandsInfoEXT* pGeneratedCommandsInfo,
    VkCommandBuffer stateCommandBuffer);
#endif /* VK_EXT_device_generated_commands */

#ifndef VK_EXT_shader_object
#define VK_EXT_shader_object 1
#define VK_EXT_SHADER_OBJECT_EXTENSION_NAME "VK_EXT_shader_object"
#define VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_OBJECT_FEATURES_EXT ((VkStructureType)1000482000)
#define VK_STRUCTURE_TYPE_SHADER_CREATE_INFO_EXT ((VkStructureType)1000482002)

#define VK_OBJECT_TYPE_SHADER_EXT ((VkObjectType)1000482000)
#define VK_SHADER_CREATE_LINK_STAGE_BIT_EXT 0x00000001
#define VK_INCOMPATIBLE_SHADER_BINARY_EXT ((VkResult)1000482000)

VK_DEFINE_NON_DISPATCHABLE_HANDLE(VkShaderEXT)

typedef VkFlags VkShaderCreateFlagsEXT;

typedef enum VkShaderCodeTypeEXT {
  VK_SHADER_CODE_TYPE_BINARY_EXT = 0,
  VK_SHADER_CODE_TYPE_SPIRV_EXT = 1,
  VK_SHADER_CODE_TYPE_MAX_ENUM_EXT = 0x7FFFFFFF
} VkShaderCodeTypeEXT;

typedef struct VkPhysicalDeviceShaderObjectFeaturesEXT {
  VkStructureType sType;
  void* pNext;
  VkBool32 shaderObject;
} VkPhysicalDeviceShaderObjectFeaturesEXT;

typedef struct VkShaderCreateInfoEXT {
  VkStructureType sType;
  const void* pNext;
  VkShaderCreateFlagsEXT flags;
  VkShaderStageFlagBits stage;
  VkShaderStageFlags nextStage;
  VkShaderCodeTypeEXT codeType;
  size_t codeSize;
  const void* pCode;
  const char* pName;
  uint32_t setLayoutCount;
  const VkDescriptorSetLayout* pSetLayouts;
  uint32_t pushConstantRangeCount;
  const VkPushConstantRange* pPushConstantRanges;
  const VkSpecializationInfo* pSpecializationInfo;
} VkShaderCreateInfoEXT;

typedef VkResult(VKAPI_PTR* PFN_vkCreateShadersEXT)(VkDevice device, uint32_t createInfoCount,
                                                    const VkShaderCreateInfoEXT* pCreateInfos,
                                                    const VkAllocationCallbacks* pAllocator,
                                                    VkShaderEXT* pShaders);
typedef void(VKAPI_PTR* PFN_vkDestroyShaderEXT)(VkDevice device, VkShaderEXT shader,
                                                const VkAllocationCallbacks* pAllocator);
typedef void(VKAPI_PTR* PFN_vkCmdBindShadersEXT)(VkCommandBuffer commandBuffer, uint32_t stageCount,
                                                 const VkShaderStageFlagBits* pStages,
                                                 const VkShaderEXT* pShaders);
typedef VkResult(VKAPI_PTR* PFN_vkGetShaderBinaryDataEXT)(VkDevice device, VkShaderEXT shader,
                                                          size_t* pDataSize, void* pData);
#endif /* VK_EXT_shader_object */

#ifndef VK_EXT_layer_settings
#define VK_EXT_layer_settings 1
#define VK_EXT_LAYER_SETTINGS_SPEC_VERSION 2
#define VK_EXT_LAYER_SETTINGS_EXTENSION_NAME "VK_EXT_layer_settings"
#define VK_STRUCTURE_TYPE_LAYER_SETTINGS_CREATE_INFO_EXT ((VkStructureType)1000496000)

typedef enum VkLayerSettingTypeEXT {
  VK_LAYER_SETTING_TYPE_BOOL32_EXT = 0,
  VK_LAYER_SETTING_TYPE_INT32_EXT = 1,
  VK_LAYER_SETTING_TYPE_INT64_EXT = 2,
  VK_LAYER_SETTING_TYPE_UINT32_EXT = 3,
  VK_LAYER_SETTING_TYPE_UINT64_EXT = 4,
  VK_LAYER_SETTING_TYPE_FLOAT32_EXT = 5,
  VK_LAYER_SETTING_TYPE_FLOAT64_EXT = 6,
  VK_LAYER_SETTING_TYPE_STRING_EXT = 7,
  VK_LAYER_SETTING_TYPE_MAX_ENUM_EXT = 0x7FFFFFFF
} VkLayerSettingTypeEXT;

typedef struct VkLayerSettingEXT {
  const char* pLayerName;
  const char* pSettingName;
  VkLayerSettingTypeEXT type;
  uint32_t valueCount;
  const void* pValues;
} VkLayerSettingEXT;

/* Extends VkInstanceCreateInfo. */
typedef struct VkLayerSettingsCreateInfoEXT {
  VkStructureType sType;
  const void* pNext;
  uint32_t settingCount;
  const VkLayerSettingEXT* pSettings;
} VkLayerSettingsCreateInfoEXT;
#endif /* VK_EXT_layer_settings */

#ifndef VK_KHR_shader_maximal_reconvergence
#define VK_KHR_shader_maximal_reconvergence 1
#define VK_KHR_SHADER_MAXIMAL_RECONVERGENCE_EXTENSION_NAME "VK_KHR_shader_maximal_reconvergence"
#define VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_MAXIMAL_RECONVERGENCE_FEATURES_KHR \
  ((VkStructureType)1000434000)

/* Extends VkPhysicalDeviceFeatures2, VkDeviceCreateInfo. */
typedef struct VkPhysicalDeviceShaderMaximalReconvergenceFeaturesKHR {
  VkStructureType sType;
  void* pNext;
  VkBool32 shaderMaximalReconvergence;
} VkPhysicalDeviceShaderMaximalReconvergenceFeaturesKHR;
#endif

#ifndef VK_EXT_frame_boundary
#define VK_EXT_frame_boundary 1
#define VK_EXT_FRAME_BOUNDARY_SPEC_VERSION 1
#define VK_EXT_FRAME_BOUNDARY_EXTENSION_NAME "VK_EXT_frame_boundary"
#define VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FRAME_BOUNDARY_FEATURES_EXT ((VkStructureType)1000375000)
#define VK_STRUCTURE_TYPE_FRAME_BOUNDARY_EXT ((VkStructureType)1000375001)

typedef VkFlags VkFrameBoundaryFlagsEXT;
#define VK_FRAME_BOUNDARY_FRAME_END_BIT_EXT 0x00000001

/* Extends VkPhysicalDeviceFeatures2 and VkDeviceCreateInfo. */
typedef struct VkPhysicalDeviceFrameBoundaryFeaturesEXT {
  VkStructureType sType;
  void* pNext;
  VkBool32 frameBoundary;
} VkPhysicalDeviceFrameBoundaryFeaturesEXT;

/* Extends VkSubmitInfo, VkSubmitInfo2, VkPresentInfoKHR and VkBindSparseInfo. */
typedef struct VkFrameBoundaryEXT {
  VkStructureType sType;
  const void* pNext;
  VkFrameBoundaryFlagsEXT flags;
  uint64_t frameID;
  uint32_t imageCount;
  const VkImage* pImages;
  uint32_t bufferCount;
  const VkBuffer* pBuffers;
  uint64_t tagName;
  size_t tagSize;
  const void* pTag;
} VkFrameBoundaryEXT;
#endif /* VK_EXT_frame_boundary */

#ifdef __cplusplus
}
#endif

#endif /* TALLY_VULKAN_NEWER_H */
