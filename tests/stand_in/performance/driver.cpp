// The capabilities that the driver reports.
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "stand_in/performance/answers.h"
#include "stand_in/performance/driver.h"
#include "vk/chain.h"

namespace tally::test::performance {
namespace {

constexpr VkStructureType kFeatures =
    VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PERFORMANCE_QUERY_FEATURES_KHR;
constexpr VkStructureType kProperties =
    VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PERFORMANCE_QUERY_PROPERTIES_KHR;

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

void add_features(VkPhysicalDeviceFeatures2& features) {
  features.features.inheritedQueries = VK_TRUE;
  if (auto* rays = vk::find_in_out_chain<VkPhysicalDeviceRayTracingPipelineFeaturesKHR>(
          features.pNext, kRayFeatures)) {
    rays->rayTracingPipelineShaderGroupHandleCaptureReplay = rays->rayTracingPipeline;
  }
  if (std::getenv(kNoHostReset)) hide_host_reset(features.pNext);
  if (auto* ours = vk::find_in_out_chain<VkPhysicalDevicePerformanceQueryFeaturesKHR>(
          features.pNext, kFeatures)) {
    ours->performanceCounterQueryPools = VK_TRUE;
    ours->performanceCounterMultipleQueryPools = VK_FALSE;
  }
}

void add_properties(VkPhysicalDevice, VkPhysicalDeviceProperties2& properties) {
  if (auto* ours = vk::find_in_out_chain<VkPhysicalDevicePerformanceQueryPropertiesKHR>(
          properties.pNext, kProperties)) {
    ours->allowCommandBufferQueryCopies = VK_TRUE;
  }
  if (auto* rays = vk::find_in_out_chain<VkPhysicalDeviceRayTracingPipelinePropertiesKHR>(
          properties.pNext,
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

Driver make() {
  Hooks hooks{
      vk::hook("vkEnumeratePhysicalDeviceQueueFamilyPerformanceQueryCountersKHR", list_counters),
      vk::hook("vkGetPhysicalDeviceFeatures", get_core_features),
      vk::hook("vkGetPhysicalDeviceQueueFamilyPerformanceQueryPassesKHR", get_passes),
  };
  add_query_hooks(hooks);
  add_command_hooks(hooks);
  add_creation_hooks(hooks);
  return {
      .extensions = {{VK_KHR_PERFORMANCE_QUERY_EXTENSION_NAME,
                      VK_KHR_PERFORMANCE_QUERY_SPEC_VERSION}},
      .structs = {kFeatures, kProperties},
      .add_features = add_features,
      .add_properties = add_properties,
      .make_device = []() -> std::unique_ptr<test::Device> { return std::make_unique<Device>(); },
      .hooks = vk::HookTable(std::move(hooks)),
  };
}

}  // namespace

void Device::adapt(const VkDeviceCreateInfo&, DeviceInfoBelow& below) {
  below.features.inheritedQueries = VK_FALSE;
  if (auto* chained = below.chain.find<VkPhysicalDeviceFeatures2>(
          VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2)) {
    chained->features.inheritedQueries = VK_FALSE;
  }
  if (auto* rays = below.chain.find<VkPhysicalDeviceRayTracingPipelineFeaturesKHR>(kRayFeatures)) {
    rays->rayTracingPipelineShaderGroupHandleCaptureReplay = VK_FALSE;
  }
}

void Device::begin(const VkDeviceCreateInfo&) {
  instance->next.GetPhysicalDeviceMemoryProperties(gpu, &memory);
}

void Device::end() {
  release_lock(handle);
  pools.clear();
}

const Driver& driver() {
  static const auto* all = new Driver(make());
  return *all;
}

}  // namespace tally::test::performance
