#include "counters/layer/needed_features.h"

namespace tally::counters {
namespace {

// Enables a feature that an extension has brought into a core version: in the struct of that
// version where the application chains it, else in its own.
template <auto kCore, auto kOwn>
struct PromotedFeature;
template <typename Core, VkBool32 Core::*kCore, typename Own, VkBool32 Own::*kOwn>
struct PromotedFeature<kCore, kOwn> {
  static void enable(CreateInfoCopy& info, const PhysicalDevice& gpu, uint32_t core_version,
                     VkStructureType core_type, const char* extension, VkStructureType own_type) {
    if (info.set_if_chained<Core, kCore>(core_type)) return;
    if (gpu.api_version < core_version) info.add_extension(extension);
    info.set<Own, kOwn>(own_type);
  }
};

void enable_core_features(CreateInfoCopy& info, const FeatureNeeds& needs) {
  VkPhysicalDeviceFeatures& features = info.core_features();
  features.vertexPipelineStoresAndAtomics = VK_TRUE;
  features.fragmentStoresAndAtomics = VK_TRUE;
  if (needs.gpu.int64) features.shaderInt64 = VK_TRUE;
  // Allows fragment shaders to read the layer.
  if (needs.regions && needs.gpu.geometry_shader) features.geometryShader = VK_TRUE;
}

void enable_multiview(CreateInfoCopy& info) {
  using Core = VkPhysicalDeviceVulkan11Features;
  using Own = VkPhysicalDeviceMultiviewFeatures;
  if (!info.set_if_chained<Core, &Core::multiview>(
          VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES)) {
    info.set<Own, &Own::multiview>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MULTIVIEW_FEATURES);
  }
}

void enable_device_clock(CreateInfoCopy& info) {
  using Own = VkPhysicalDeviceShaderClockFeaturesKHR;
  info.add_extension(VK_KHR_SHADER_CLOCK_EXTENSION_NAME);
  info.set<Own, &Own::shaderDeviceClock>(
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_CLOCK_FEATURES_KHR);
}

void enable_conditional_rendering(CreateInfoCopy& info) {
  using Own = VkPhysicalDeviceConditionalRenderingFeaturesEXT;
  info.add_extension(VK_EXT_CONDITIONAL_RENDERING_EXTENSION_NAME);
  info.set<Own, &Own::conditionalRendering>(
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_CONDITIONAL_RENDERING_FEATURES_EXT);
}

void enable_host_query_reset(CreateInfoCopy& info, const PhysicalDevice& gpu) {
  PromotedFeature<&VkPhysicalDeviceVulkan12Features::hostQueryReset,
                  &VkPhysicalDeviceHostQueryResetFeatures::hostQueryReset>::
      enable(info, gpu, VK_API_VERSION_1_2, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
             VK_EXT_HOST_QUERY_RESET_EXTENSION_NAME,
             VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_HOST_QUERY_RESET_FEATURES);
}

void enable_cache_control(CreateInfoCopy& info, const PhysicalDevice& gpu) {
  PromotedFeature<
      &VkPhysicalDeviceVulkan13Features::pipelineCreationCacheControl,
      &VkPhysicalDevicePipelineCreationCacheControlFeatures::pipelineCreationCacheControl>::
      enable(info, gpu, VK_API_VERSION_1_3, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES,
             VK_EXT_PIPELINE_CREATION_CACHE_CONTROL_EXTENSION_NAME,
             VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PIPELINE_CREATION_CACHE_CONTROL_FEATURES);
}

void enable_subgroup_clock(CreateInfoCopy& info) {
  using Own = VkPhysicalDeviceShaderClockFeaturesKHR;
  info.add_extension(VK_KHR_SHADER_CLOCK_EXTENSION_NAME);
  info.set<Own, &Own::shaderSubgroupClock>(
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_CLOCK_FEATURES_KHR);
}

void enable_sm_builtins(CreateInfoCopy& info) {
  using Own = VkPhysicalDeviceShaderSMBuiltinsFeaturesNV;
  info.add_extension(VK_NV_SHADER_SM_BUILTINS_EXTENSION_NAME);
  info.set<Own, &Own::shaderSMBuiltins>(
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_SM_BUILTINS_FEATURES_NV);
}

void enable_buffer_device_address(CreateInfoCopy& info, const PhysicalDevice& gpu) {
  using Core = VkPhysicalDeviceVulkan12Features;
  using Own = VkPhysicalDeviceBufferDeviceAddressFeatures;
  using Old = VkPhysicalDeviceBufferDeviceAddressFeaturesEXT;
  if (info.set_if_chained<Core, &Core::bufferDeviceAddress>(
          VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES))
    return;
  // The EXT extension and its successor exclude each other.
  if (info.has_extension(VK_EXT_BUFFER_DEVICE_ADDRESS_EXTENSION_NAME)) {
    info.set<Old, &Old::bufferDeviceAddress>(
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_BUFFER_DEVICE_ADDRESS_FEATURES_EXT);
    return;
  }
  if (gpu.api_version < VK_API_VERSION_1_2)
    info.add_extension(VK_KHR_BUFFER_DEVICE_ADDRESS_EXTENSION_NAME);
  info.set<Own, &Own::bufferDeviceAddress>(
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_BUFFER_DEVICE_ADDRESS_FEATURES);
}

void enable_timeline_semaphores(CreateInfoCopy& info, const PhysicalDevice& gpu) {
  PromotedFeature<&VkPhysicalDeviceVulkan12Features::timelineSemaphore,
                  &VkPhysicalDeviceTimelineSemaphoreFeatures::timelineSemaphore>::
      enable(info, gpu, VK_API_VERSION_1_2, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
             VK_KHR_TIMELINE_SEMAPHORE_EXTENSION_NAME,
             VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES);
}

void enable_int64_atomics(CreateInfoCopy& info, const PhysicalDevice& gpu) {
  PromotedFeature<&VkPhysicalDeviceVulkan12Features::shaderBufferInt64Atomics,
                  &VkPhysicalDeviceShaderAtomicInt64Features::shaderBufferInt64Atomics>::
      enable(info, gpu, VK_API_VERSION_1_2, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
             VK_KHR_SHADER_ATOMIC_INT64_EXTENSION_NAME,
             VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_ATOMIC_INT64_FEATURES);
}

}  // namespace

void enable_needed_features(CreateInfoCopy& info, const FeatureNeeds& needs) {
  const PhysicalDevice& gpu = needs.gpu;
  enable_core_features(info, needs);
  enable_buffer_device_address(info, gpu);
  enable_timeline_semaphores(info, gpu);
  if (gpu.int64_atomics) enable_int64_atomics(info, gpu);
  if (needs.regions && gpu.multiview) enable_multiview(info);
  if (needs.regions && gpu.counts_subgroup_clock()) enable_subgroup_clock(info);
  if (needs.timestamps) enable_device_clock(info);
  if (needs.conditional_rendering) enable_conditional_rendering(info);
  if (needs.host_query_reset) enable_host_query_reset(info, gpu);
  if (needs.sm_builtins) enable_sm_builtins(info);
  if (needs.cache_control) enable_cache_control(info, gpu);
}

}  // namespace tally::counters
