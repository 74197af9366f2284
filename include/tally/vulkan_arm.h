/* The two ARM counter extensions that VK_LAYER_TALLY_counters implements, for programs built
 * against Vulkan headers without them. Each block is skipped if the installed vulkan_core.h
 * declares the extension itself. C and C++. New enumeration values are macros, because an
 * enumeration cannot be extended. The specifications of the two extensions define all semantics. */
#ifndef TALLY_VULKAN_ARM_H
#define TALLY_VULKAN_ARM_H

#include <vulkan/vulkan_core.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef VK_ARM_performance_counters_by_region
#define VK_ARM_performance_counters_by_region 1
#define VK_ARM_PERFORMANCE_COUNTERS_BY_REGION_SPEC_VERSION 1
#define VK_ARM_PERFORMANCE_COUNTERS_BY_REGION_EXTENSION_NAME "VK_ARM_performance_counters_by_region"

#define VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PERFORMANCE_COUNTERS_BY_REGION_FEATURES_ARM \
  ((VkStructureType)1000605000)
#define VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PERFORMANCE_COUNTERS_BY_REGION_PROPERTIES_ARM \
  ((VkStructureType)1000605001)
#define VK_STRUCTURE_TYPE_PERFORMANCE_COUNTER_ARM ((VkStructureType)1000605002)
#define VK_STRUCTURE_TYPE_PERFORMANCE_COUNTER_DESCRIPTION_ARM ((VkStructureType)1000605003)
#define VK_STRUCTURE_TYPE_RENDER_PASS_PERFORMANCE_COUNTERS_BY_REGION_BEGIN_INFO_ARM \
  ((VkStructureType)1000605004)

typedef VkFlags VkPerformanceCounterDescriptionFlagsARM;

/* Extends VkPhysicalDeviceFeatures2 and VkDeviceCreateInfo. */
typedef struct VkPhysicalDevicePerformanceCountersByRegionFeaturesARM {
  VkStructureType sType;
  void* pNext;
  VkBool32 performanceCountersByRegion;
} VkPhysicalDevicePerformanceCountersByRegionFeaturesARM;

/* Extends VkPhysicalDeviceProperties2. */
typedef struct VkPhysicalDevicePerformanceCountersByRegionPropertiesARM {
  VkStructureType sType;
  void* pNext;
  uint32_t maxPerRegionPerformanceCounters;
  VkExtent2D performanceCounterRegionSize;
  uint32_t rowStrideAlignment;
  uint32_t regionAlignment;
  VkBool32 identityTransformOrder;
} VkPhysicalDevicePerformanceCountersByRegionPropertiesARM;

typedef struct VkPerformanceCounterARM {
  VkStructureType sType;
  void* pNext;
  uint32_t counterID;
} VkPerformanceCounterARM;

typedef struct VkPerformanceCounterDescriptionARM {
  VkStructureType sType;
  void* pNext;
  VkPerformanceCounterDescriptionFlagsARM flags;
  char name[VK_MAX_DESCRIPTION_SIZE];
} VkPerformanceCounterDescriptionARM;

/* Extends VkRenderPassBeginInfo and VkRenderingInfo. */
typedef struct VkRenderPassPerformanceCountersByRegionBeginInfoARM {
  VkStructureType sType;
  void* pNext;
  uint32_t counterAddressCount;
  const VkDeviceAddress* pCounterAddresses;
  VkBool32 serializeRegions;
  uint32_t counterIndexCount;
  uint32_t* pCounterIndices;
} VkRenderPassPerformanceCountersByRegionBeginInfoARM;

typedef VkResult(VKAPI_PTR* PFN_vkEnumeratePhysicalDeviceQueueFamilyPerformanceCountersByRegionARM)(
    VkPhysicalDevice physicalDevice, uint32_t queueFamilyIndex, uint32_t* pCounterCount,
    VkPerformanceCounterARM* pCounters, VkPerformanceCounterDescriptionARM* pCounterDescriptions);
#endif /* VK_ARM_performance_counters_by_region */

#ifndef VK_ARM_shader_instrumentation
#define VK_ARM_shader_instrumentation 1
#define VK_ARM_SHADER_INSTRUMENTATION_SPEC_VERSION 1
#define VK_ARM_SHADER_INSTRUMENTATION_EXTENSION_NAME "VK_ARM_shader_instrumentation"

#define VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INSTRUMENTATION_FEATURES_ARM \
  ((VkStructureType)1000607000)
#define VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INSTRUMENTATION_PROPERTIES_ARM \
  ((VkStructureType)1000607001)
#define VK_STRUCTURE_TYPE_SHADER_INSTRUMENTATION_CREATE_INFO_ARM ((VkStructureType)1000607002)
#define VK_STRUCTURE_TYPE_SHADER_INSTRUMENTATION_METRIC_DESCRIPTION_ARM \
  ((VkStructureType)1000607003)
#define VK_OBJECT_TYPE_SHADER_INSTRUMENTATION_ARM ((VkObjectType)1000607000)

VK_DEFINE_NON_DISPATCHABLE_HANDLE(VkShaderInstrumentationARM)

/* Bits of VkPipelineCreateFlags2 and VkShaderCreateFlagsEXT. */
#define VK_PIPELINE_CREATE_2_INSTRUMENT_SHADERS_BIT_ARM 0x8000000000ULL
#define VK_SHADER_CREATE_INSTRUMENT_SHADER_BIT_ARM 0x00000800U

typedef VkFlags VkShaderInstrumentationValuesFlagsARM;

/* Extends VkPhysicalDeviceFeatures2 and VkDeviceCreateInfo. */
typedef struct VkPhysicalDeviceShaderInstrumentationFeaturesARM {
  VkStructureType sType;
  void* pNext;
  VkBool32 shaderInstrumentation;
} VkPhysicalDeviceShaderInstrumentationFeaturesARM;

/* Extends VkPhysicalDeviceProperties2. */
typedef struct VkPhysicalDeviceShaderInstrumentationPropertiesARM {
  VkStructureType sType;
  void* pNext;
  uint32_t numMetrics;
  VkBool32 perBasicBlockGranularity;
} VkPhysicalDeviceShaderInstrumentationPropertiesARM;

typedef struct VkShaderInstrumentationCreateInfoARM {
  VkStructureType sType;
  void* pNext;
} VkShaderInstrumentationCreateInfoARM;

typedef struct VkShaderInstrumentationMetricDescriptionARM {
  VkStructureType sType;
  void* pNext;
  char name[VK_MAX_DESCRIPTION_SIZE];
  char description[VK_MAX_DESCRIPTION_SIZE];
} VkShaderInstrumentationMetricDescriptionARM;

/* The first 16 bytes of a metric block; numMetrics 64-bit values follow. */
typedef struct VkShaderInstrumentationMetricDataHeaderARM {
  uint32_t resultIndex;
  uint32_t resultSubIndex;
  VkShaderStageFlags stages;
  uint32_t basicBlockIndex;
} VkShaderInstrumentationMetricDataHeaderARM;

typedef VkResult(VKAPI_PTR* PFN_vkEnumeratePhysicalDeviceShaderInstrumentationMetricsARM)(
    VkPhysicalDevice physicalDevice, uint32_t* pDescriptionCount,
    VkShaderInstrumentationMetricDescriptionARM* pDescriptions);
typedef VkResult(VKAPI_PTR* PFN_vkCreateShaderInstrumentationARM)(
    VkDevice device, const VkShaderInstrumentationCreateInfoARM* pCreateInfo,
    const VkAllocationCallbacks* pAllocator, VkShaderInstrumentationARM* pInstrumentation);
typedef void(VKAPI_PTR* PFN_vkDestroyShaderInstrumentationARM)(
    VkDevice device, VkShaderInstrumentationARM instrumentation,
    const VkAllocationCallbacks* pAllocator);
typedef void(VKAPI_PTR* PFN_vkCmdBeginShaderInstrumentationARM)(
    VkCommandBuffer commandBuffer, VkShaderInstrumentationARM instrumentation);
typedef void(VKAPI_PTR* PFN_vkCmdEndShaderInstrumentationARM)(VkCommandBuffer commandBuffer);
typedef VkResult(VKAPI_PTR* PFN_vkGetShaderInstrumentationValuesARM)(
    VkDevice device, VkShaderInstrumentationARM instrumentation, uint32_t* pMetricBlockCount,
    void* pMetricValues, VkShaderInstrumentationValuesFlagsARM flags);
typedef void(VKAPI_PTR* PFN_vkClearShaderInstrumentationMetricsARM)(
    VkDevice device, VkShaderInstrumentationARM instrumentation);
#endif /* VK_ARM_shader_instrumentation */

#ifdef __cplusplus
}
#endif

#endif /* TALLY_VULKAN_ARM_H */
