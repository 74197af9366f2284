// The capabilities that the test driver reports.
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "api/driver/counters.h"
#include "api/driver/driver.h"
#include "vk/chain.h"

namespace tally::test::driver {
namespace {

constexpr VkStructureType kFeatures =
    VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PERFORMANCE_QUERY_FEATURES_KHR;
constexpr VkStructureType kProperties =
    VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PERFORMANCE_QUERY_PROPERTIES_KHR;

VKAPI_ATTR VkResult VKAPI_CALL list_extensions(VkPhysicalDevice gpu, const char* layer,
                                               uint32_t* count, VkExtensionProperties* properties) {
  const auto list = instance_of(gpu).next.EnumerateDeviceExtensionProperties;
  if (layer) return list(gpu, layer, count, properties);
  uint32_t below = 0;
  list(gpu, nullptr, &below, nullptr);
  std::vector<VkExtensionProperties> all(below);
  list(gpu, nullptr, &below, all.data());
  all.push_back({VK_KHR_PERFORMANCE_QUERY_EXTENSION_NAME, VK_KHR_PERFORMANCE_QUERY_SPEC_VERSION});
  return vk::write_array<VkExtensionProperties>(all, count, properties);
}

VKAPI_ATTR void VKAPI_CALL get_core_features(VkPhysicalDevice gpu,
                                             VkPhysicalDeviceFeatures* features) {
  instance_of(gpu).next.GetPhysicalDeviceFeatures(gpu, features);
  features->inheritedQueries = VK_TRUE;
}

void hide_host_reset(void* chain) {
  if (auto* own = vk::find_in_out_chain<VkPhysicalDeviceHostQueryResetFeatures>(
          chain, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_HOST_QUERY_RESET_FEATURES)) {
    own->hostQueryReset = VK_FALSE;
  }
  if (auto* core = vk::find_in_out_chain<VkPhysicalDeviceVulkan12Features>(
          chain, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES)) {
    core->hostQueryReset = VK_FALSE;
  }
}

VKAPI_ATTR void VKAPI_CALL get_features(VkPhysicalDevice gpu, VkPhysicalDeviceFeatures2* features) {
  auto* ours = vk::find_in_out_chain<VkPhysicalDevicePerformanceQueryFeaturesKHR>(features->pNext,
                                                                                  kFeatures);
  {
    const vk::UnlinkedStructs unlinked(features, {kFeatures});
    instance_of(gpu).next.GetPhysicalDeviceFeatures2(gpu, features);
  }
  features->features.inheritedQueries = VK_TRUE;
  if (auto* rays = vk::find_in_out_chain<VkPhysicalDeviceRayTracingPipelineFeaturesKHR>(
          features->pNext, kRayFeatures)) {
    rays->rayTracingPipelineShaderGroupHandleCaptureReplay = rays->rayTracingPipeline;
  }
  if (std::getenv(kNoHostReset)) hide_host_reset(features->pNext);
  if (!ours) return;
  ours->performanceCounterQueryPools = VK_TRUE;
  ours->performanceCounterMultipleQueryPools = VK_FALSE;
}

VKAPI_ATTR void VKAPI_CALL get_properties(VkPhysicalDevice gpu,
                                          VkPhysicalDeviceProperties2* properties) {
  auto* ours = vk::find_in_out_chain<VkPhysicalDevicePerformanceQueryPropertiesKHR>(
      properties->pNext, kProperties);
  {
    const vk::UnlinkedStructs unlinked(properties, {kProperties});
    instance_of(gpu).next.GetPhysicalDeviceProperties2(gpu, properties);
  }
  if (ours) ours->allowCommandBufferQueryCopies = VK_TRUE;
  if (auto* rays = vk::find_in_out_chain<VkPhysicalDeviceRayTracingPipelinePropertiesKHR>(
          properties->pNext,
          VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_RAY_TRACING_PIPELINE_PROPERTIES_KHR)) {
    rays->shaderGroupHandleCaptureReplaySize = sizeof(ReplayHandle);
  }
}

VKAPI_ATTR VkResult VKAPI_CALL list_counters(VkPhysicalDevice, uint32_t, uint32_t* count,
                                             VkPerformanceCounterKHR* counters,
                                             VkPerformanceCounterDescriptionKHR* descriptions) {
  const bool wanted = counters || descriptions;
  const uint32_t written = wanted ? std::min<uint32_t>(*count, kCounters) : kCounters;
  for (uint32_t i = 0; wanted && i < written; ++i) {
    if (counters) {
      counters[i].unit = kAll[i].unit;
      counters[i].scope = kAll[i].scope;
      counters[i].storage = kAll[i].storage;
      std::memset(counters[i].uuid, static_cast<int>(i) + 1, VK_UUID_SIZE);
    }
    if (descriptions) std::strcpy(descriptions[i].name, kAll[i].name);
    if (descriptions) std::strcpy(descriptions[i].category, "test driver");
    if (descriptions) std::strcpy(descriptions[i].description, "known answer");
  }
  *count = written;
  return written < kCounters ? VK_INCOMPLETE : VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL get_passes(VkPhysicalDevice,
                                      const VkQueryPoolPerformanceCreateInfoKHR* info,
                                      uint32_t* passes) {
  *passes = passes_of(*info);
}

}  // namespace

void add_physical_device_hooks(Hooks& hooks) {
  hooks.push_back(vk::hook("vkEnumerateDeviceExtensionProperties", list_extensions));
  hooks.push_back(
      vk::hook("vkEnumeratePhysicalDeviceQueueFamilyPerformanceQueryCountersKHR", list_counters));
  hooks.push_back(vk::hook("vkGetPhysicalDeviceFeatures", get_core_features));
  hooks.push_back(vk::hook("vkGetPhysicalDeviceFeatures2", get_features));
  hooks.push_back(vk::hook("vkGetPhysicalDeviceFeatures2KHR", get_features));
  hooks.push_back(vk::hook("vkGetPhysicalDeviceProperties2", get_properties));
  hooks.push_back(vk::hook("vkGetPhysicalDeviceProperties2KHR", get_properties));
  hooks.push_back(vk::hook("vkGetPhysicalDeviceQueueFamilyPerformanceQueryPassesKHR", get_passes));
}

}  // namespace tally::test::driver
