/* The parts that Tally uses of VK_EXT_device_generated_commands, which is newer than the headers of
 * Debian 12. Skipped if the installed vulkan_core.h declares the extension itself. C and C++. */
#ifndef TALLY_VULKAN_GENERATED_H
#define TALLY_VULKAN_GENERATED_H

#include <tally/vulkan_newer.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef VK_EXT_DEVICE_GENERATED_COMMANDS_EXTENSION_NAME
#define VK_EXT_DEVICE_GENERATED_COMMANDS_EXTENSION_NAME "VK_EXT_device_generated_commands"
#define VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DEVICE_GENERATED_COMMANDS_FEATURES_EXT \
  ((VkStructureType)1000572000)
#define VK_STRUCTURE_TYPE_GENERATED_COMMANDS_MEMORY_REQUIREMENTS_INFO_EXT \
  ((VkStructureType)1000572002)
#define VK_STRUCTURE_TYPE_INDIRECT_EXECUTION_SET_CREATE_INFO_EXT ((VkStructureType)1000572003)
#define VK_STRUCTURE_TYPE_GENERATED_COMMANDS_INFO_EXT ((VkStructureType)1000572004)
#define VK_STRUCTURE_TYPE_INDIRECT_COMMANDS_LAYOUT_CREATE_INFO_EXT ((VkStructureType)1000572006)
#define VK_STRUCTURE_TYPE_INDIRECT_COMMANDS_LAYOUT_TOKEN_EXT ((VkStructureType)1000572007)
#define VK_STRUCTURE_TYPE_WRITE_INDIRECT_EXECUTION_SET_PIPELINE_EXT ((VkStructureType)1000572008)
#define VK_STRUCTURE_TYPE_WRITE_INDIRECT_EXECUTION_SET_SHADER_EXT ((VkStructureType)1000572009)
#define VK_STRUCTURE_TYPE_INDIRECT_EXECUTION_SET_PIPELINE_INFO_EXT ((VkStructureType)1000572010)
#define VK_STRUCTURE_TYPE_INDIRECT_EXECUTION_SET_SHADER_INFO_EXT ((VkStructureType)1000572011)
#define VK_STRUCTURE_TYPE_INDIRECT_EXECUTION_SET_SHADER_LAYOUT_INFO_EXT \
  ((VkStructureType)1000572012)
#define VK_STRUCTURE_TYPE_GENERATED_COMMANDS_PIPELINE_INFO_EXT ((VkStructureType)1000572013)
#define VK_STRUCTURE_TYPE_GENERATED_COMMANDS_SHADER_INFO_EXT ((VkStructureType)1000572014)

VK_DEFINE_NON_DISPATCHABLE_HANDLE(VkIndirectExecutionSetEXT)
VK_DEFINE_NON_DISPATCHABLE_HANDLE(VkIndirectCommandsLayoutEXT)

typedef enum VkIndirectExecutionSetInfoTypeEXT {
  VK_INDIRECT_EXECUTION_SET_INFO_TYPE_PIPELINES_EXT = 0,
  VK_INDIRECT_EXECUTION_SET_INFO_TYPE_SHADER_OBJECTS_EXT = 1,
  VK_INDIRECT_EXECUTION_SET_INFO_TYPE_MAX_ENUM_EXT = 0x7FFFFFFF
} VkIndirectExecutionSetInfoTypeEXT;

typedef enum VkIndirectCommandsTokenTypeEXT {
  VK_INDIRECT_COMMANDS_TOKEN_TYPE_EXECUTION_SET_EXT = 0,
  VK_INDIRECT_COMMANDS_TOKEN_TYPE_PUSH_CONSTANT_EXT = 1,
  VK_INDIRECT_COMMANDS_TOKEN_TYPE_DRAW_EXT = 6,
  VK_INDIRECT_COMMANDS_TOKEN_TYPE_DISPATCH_EXT = 9,
  VK_INDIRECT_COMMANDS_TOKEN_TYPE_MAX_ENUM_EXT = 0x7FFFFFFF
} VkIndirectCommandsTokenTypeEXT;

typedef VkFlags VkIndirectCommandsLayoutUsageFlagsEXT;
#define VK_INDIRECT_COMMANDS_LAYOUT_USAGE_EXPLICIT_PREPROCESS_BIT_EXT 0x1

typedef struct VkPhysicalDeviceDeviceGeneratedCommandsFeaturesEXT {
  VkStructureType sType;
  void* pNext;
  VkBool32 deviceGeneratedCommands;
  VkBool32 dynamicGeneratedPipelineLayout;
} VkPhysicalDeviceDeviceGeneratedCommandsFeaturesEXT;

typedef struct VkGeneratedCommandsMemoryRequirementsInfoEXT {
  VkStructureType sType;
  const void* pNext;
  VkIndirectExecutionSetEXT indirectExecutionSet;
  VkIndirectCommandsLayoutEXT indirectCommandsLayout;
  uint32_t maxSequenceCount;
  uint32_t maxDrawCount;
} VkGeneratedCommandsMemoryRequirementsInfoEXT;

struct VkGeneratedCommandsInfoEXT {
  VkStructureType sType;
  const void* pNext;
  VkShaderStageFlags shaderStages;
  VkIndirectExecutionSetEXT indirectExecutionSet;
  VkIndirectCommandsLayoutEXT indirectCommandsLayout;
  VkDeviceAddress indirectAddress;
  VkDeviceSize indirectAddressSize;
  VkDeviceAddress preprocessAddress;
  VkDeviceSize preprocessSize;
  uint32_t maxSequenceCount;
  VkDeviceAddress sequenceCountAddress;
  uint32_t maxDrawCount;
};

typedef struct VkIndirectExecutionSetPipelineInfoEXT {
  VkStructureType sType;
  const void* pNext;
  VkPipeline initialPipeline;
  uint32_t maxPipelineCount;
} VkIndirectExecutionSetPipelineInfoEXT;

typedef struct VkIndirectExecutionSetShaderLayoutInfoEXT {
  VkStructureType sType;
  const void* pNext;
  uint32_t setLayoutCount;
  const VkDescriptorSetLayout* pSetLayouts;
} VkIndirectExecutionSetShaderLayoutInfoEXT;

typedef struct VkIndirectExecutionSetShaderInfoEXT {
  VkStructureType sType;
  const void* pNext;
  uint32_t shaderCount;
  const VkShaderEXT* pInitialShaders;
  const VkIndirectExecutionSetShaderLayoutInfoEXT* pSetLayoutInfos;
  uint32_t maxShaderCount;
  uint32_t pushConstantRangeCount;
  const VkPushConstantRange* pPushConstantRanges;
} VkIndirectExecutionSetShaderInfoEXT;

typedef union VkIndirectExecutionSetInfoEXT {
  const VkIndirectExecutionSetPipelineInfoEXT* pPipelineInfo;
  const VkIndirectExecutionSetShaderInfoEXT* pShaderInfo;
} VkIndirectExecutionSetInfoEXT;

typedef struct VkIndirectExecutionSetCreateInfoEXT {
  VkStructureType sType;
  const void* pNext;
  VkIndirectExecutionSetInfoTypeEXT type;
  VkIndirectExecutionSetInfoEXT info;
} VkIndirectExecutionSetCreateInfoEXT;

typedef struct VkWriteIndirectExecutionSetPipelineEXT {
  VkStructureType sType;
  const void* pNext;
  uint32_t index;
  VkPipeline pipeline;
} VkWriteIndirectExecutionSetPipelineEXT;

typedef struct VkWriteIndirectExecutionSetShaderEXT {
  VkStructureType sType;
  const void* pNext;
  uint32_t index;
  VkShaderEXT shader;
} VkWriteIndirectExecutionSetShaderEXT;

typedef struct VkIndirectCommandsPushConstantTokenEXT {
  VkPushConstantRange updateRange;
} VkIndirectCommandsPushConstantTokenEXT;

typedef struct VkIndirectCommandsExecutionSetTokenEXT {
  VkIndirectExecutionSetInfoTypeEXT type;
  VkShaderStageFlags shaderStages;
} VkIndirectCommandsExecutionSetTokenEXT;

typedef union VkIndirectCommandsTokenDataEXT {
  const VkIndirectCommandsPushConstantTokenEXT* pPushConstant;
  const void* pVertexBuffer;
  const void* pIndexBuffer;
  const VkIndirectCommandsExecutionSetTokenEXT* pExecutionSet;
} VkIndirectCommandsTokenDataEXT;

typedef struct VkIndirectCommandsLayoutTokenEXT {
  VkStructureType sType;
  const void* pNext;
  VkIndirectCommandsTokenTypeEXT type;
  VkIndirectCommandsTokenDataEXT data;
  uint32_t offset;
} VkIndirectCommandsLayoutTokenEXT;

typedef struct VkIndirectCommandsLayoutCreateInfoEXT {
  VkStructureType sType;
  const void* pNext;
  VkIndirectCommandsLayoutUsageFlagsEXT flags;
  VkShaderStageFlags shaderStages;
  uint32_t indirectStride;
  VkPipelineLayout pipelineLayout;
  uint32_t tokenCount;
  const VkIndirectCommandsLayoutTokenEXT* pTokens;
} VkIndirectCommandsLayoutCreateInfoEXT;

typedef struct VkGeneratedCommandsPipelineInfoEXT {
  VkStructureType sType;
  void* pNext;
  VkPipeline pipeline;
} VkGeneratedCommandsPipelineInfoEXT;

typedef struct VkGeneratedCommandsShaderInfoEXT {
  VkStructureType sType;
  void* pNext;
  uint32_t shaderCount;
  const VkShaderEXT* pShaders;
} VkGeneratedCommandsShaderInfoEXT;

typedef void(VKAPI_PTR* PFN_vkGetGeneratedCommandsMemoryRequirementsEXT)(
    VkDevice device, const VkGeneratedCommandsMemoryRequirementsInfoEXT* pInfo,
    VkMemoryRequirements2* pMemoryRequirements);
typedef VkResult(VKAPI_PTR* PFN_vkCreateIndirectCommandsLayoutEXT)(
    VkDevice device, const VkIndirectCommandsLayoutCreateInfoEXT* pCreateInfo,
    const VkAllocationCallbacks* pAllocator, VkIndirectCommandsLayoutEXT* pIndirectCommandsLayout);
typedef void(VKAPI_PTR* PFN_vkDestroyIndirectCommandsLayoutEXT)(
    VkDevice device, VkIndirectCommandsLayoutEXT indirectCommandsLayout,
    const VkAllocationCallbacks* pAllocator);
typedef VkResult(VKAPI_PTR* PFN_vkCreateIndirectExecutionSetEXT)(
    VkDevice device, const VkIndirectExecutionSetCreateInfoEXT* pCreateInfo,
    const VkAllocationCallbacks* pAllocator, VkIndirectExecutionSetEXT* pIndirectExecutionSet);
typedef void(VKAPI_PTR* PFN_vkDestroyIndirectExecutionSetEXT)(
    VkDevice device, VkIndirectExecutionSetEXT indirectExecutionSet,
    const VkAllocationCallbacks* pAllocator);
typedef void(VKAPI_PTR* PFN_vkUpdateIndirectExecutionSetPipelineEXT)(
    VkDevice device, VkIndirectExecutionSetEXT indirectExecutionSet,
    uint32_t executionSetWriteCount,
    const VkWriteIndirectExecutionSetPipelineEXT* pExecutionSetWrites);
typedef void(VKAPI_PTR* PFN_vkUpdateIndirectExecutionSetShaderEXT)(
    VkDevice device, VkIndirectExecutionSetEXT indirectExecutionSet,
    uint32_t executionSetWriteCount,
    const VkWriteIndirectExecutionSetShaderEXT* pExecutionSetWrites);
#endif /* VK_EXT_DEVICE_GENERATED_COMMANDS_EXTENSION_NAME */

#ifdef __cplusplus
}
#endif

#endif /* TALLY_VULKAN_GENERATED_H */
