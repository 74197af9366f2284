#include <vulkan/vk_layer.h>

#include <tally/vulkan_arm.h>
#include <tally/vulkan_newer.h>
#include <tally/vulkan_newest.h>

#include "vk/chain.h"

namespace tally::vk {

// struct_sizes.py generates the rows from the registry of Vulkan 1.3.239. Newer structs that Tally
// itself declares are listed by hand.
size_t struct_size(VkStructureType type) {
  switch (static_cast<uint32_t>(type)) {
#define TALLY_STRUCT(value, name) \
  case value:                     \
    return sizeof(name);
#include "vk/struct_sizes.inc"
    TALLY_STRUCT(VK_STRUCTURE_TYPE_LOADER_INSTANCE_CREATE_INFO, VkLayerInstanceCreateInfo)
    TALLY_STRUCT(VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO, VkLayerDeviceCreateInfo)
    TALLY_STRUCT(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_5_FEATURES_KHR,
                 VkPhysicalDeviceMaintenance5FeaturesKHR)
    TALLY_STRUCT(VK_STRUCTURE_TYPE_BUFFER_USAGE_FLAGS_2_CREATE_INFO_KHR,
                 VkBufferUsageFlags2CreateInfoKHR)
    TALLY_STRUCT(VK_STRUCTURE_TYPE_PIPELINE_CREATE_FLAGS_2_CREATE_INFO_KHR,
                 VkPipelineCreateFlags2CreateInfoKHR)
    TALLY_STRUCT(VK_STRUCTURE_TYPE_LAYER_SETTINGS_CREATE_INFO_EXT, VkLayerSettingsCreateInfoEXT)
    TALLY_STRUCT(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FRAME_BOUNDARY_FEATURES_EXT,
                 VkPhysicalDeviceFrameBoundaryFeaturesEXT)
    TALLY_STRUCT(VK_STRUCTURE_TYPE_FRAME_BOUNDARY_EXT, VkFrameBoundaryEXT)
    TALLY_STRUCT(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INSTRUMENTATION_FEATURES_ARM,
                 VkPhysicalDeviceShaderInstrumentationFeaturesARM)
    TALLY_STRUCT(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PERFORMANCE_COUNTERS_BY_REGION_FEATURES_ARM,
                 VkPhysicalDevicePerformanceCountersByRegionFeaturesARM)
    TALLY_STRUCT(VK_STRUCTURE_TYPE_RENDER_PASS_PERFORMANCE_COUNTERS_BY_REGION_BEGIN_INFO_ARM,
                 VkRenderPassPerformanceCountersByRegionBeginInfoARM)
    TALLY_STRUCT(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ELAPSED_TIMER_QUERY_FEATURES_QCOM,
                 VkPhysicalDeviceElapsedTimerQueryFeaturesQCOM)
#undef TALLY_STRUCT
    default:
      return 0;
  }
}

}  // namespace tally::vk
