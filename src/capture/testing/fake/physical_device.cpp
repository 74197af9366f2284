// The properties and features of the physical device.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "capture/testing/fake/fake.h"
#include "vk/chain.h"

namespace tally::fake {
namespace {

VKAPI_ATTR VkResult VKAPI_CALL EnumerateMetrics(
    VkPhysicalDevice, uint32_t* count, VkShaderInstrumentationMetricDescriptionARM* metrics) {
  if (!metrics) {
    *count = kMetricCount;
    return VK_SUCCESS;
  }
  const uint32_t written = *count < kMetricCount ? *count : kMetricCount;
  for (uint32_t i = 0; i < written; ++i) {
    std::snprintf(metrics[i].name, sizeof metrics[i].name, "%s", kMetrics[i]);
    std::snprintf(metrics[i].description, sizeof metrics[i].description, "fake %s", kMetrics[i]);
  }
  *count = written;
  return written < kMetricCount ? VK_INCOMPLETE : VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL EnumerateDeviceExtensionProperties(
    VkPhysicalDevice d, const char* layer, uint32_t* count, VkExtensionProperties* properties) {
  InstanceTable& next = instance_table(d);
  if (layer) return next.EnumerateDeviceExtensionProperties(d, layer, count, properties);
  uint32_t below = 0;
  next.EnumerateDeviceExtensionProperties(d, nullptr, &below, nullptr);
  std::vector<VkExtensionProperties> all(below);
  next.EnumerateDeviceExtensionProperties(d, nullptr, &below, all.data());
  VkExtensionProperties ours{};
  std::strcpy(ours.extensionName, VK_ARM_SHADER_INSTRUMENTATION_EXTENSION_NAME);
  ours.specVersion = VK_ARM_SHADER_INSTRUMENTATION_SPEC_VERSION;
  all.push_back(ours);
  std::strcpy(ours.extensionName, kUncountable);
  all.push_back(ours);
  if (has_boundaries()) {
    std::strcpy(ours.extensionName, VK_EXT_FRAME_BOUNDARY_EXTENSION_NAME);
    all.push_back(ours);
  }
  if (has_statistics()) {
    std::strcpy(ours.extensionName, VK_KHR_PIPELINE_EXECUTABLE_PROPERTIES_EXTENSION_NAME);
    all.push_back(ours);
  }
  return vk::write_array<VkExtensionProperties>(all, count, properties);
}

VKAPI_ATTR void VKAPI_CALL GetPhysicalDeviceFeatures2(VkPhysicalDevice d,
                                                      VkPhysicalDeviceFeatures2* features) {
  constexpr VkStructureType kType =
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INSTRUMENTATION_FEATURES_ARM;
  {
    const vk::UnlinkedStructs without(
        features, {kType, kUncountableFeatures, kStatisticsFeatures,
                   VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FRAME_BOUNDARY_FEATURES_EXT});
    instance_table(d).GetPhysicalDeviceFeatures2(d, features);
  }
  if (auto* boundary = vk::find_in_out_chain<VkPhysicalDeviceFrameBoundaryFeaturesEXT>(
          features, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FRAME_BOUNDARY_FEATURES_EXT)) {
    if (!has_boundaries()) broken("it is asked for the feature of an extension that it lacks");
    boundary->frameBoundary = VK_TRUE;
  }
  if (auto* statistics =
          vk::find_in_out_chain<VkPhysicalDevicePipelineExecutablePropertiesFeaturesKHR>(
              features, kStatisticsFeatures)) {
    statistics->pipelineExecutableInfo = has_statistics() ? VK_TRUE : VK_FALSE;
  }
  if (auto* uncountable = vk::find_in_out_chain<VkPhysicalDeviceSubpassShadingFeaturesHUAWEI>(
          features, kUncountableFeatures)) {
    uncountable->subpassShading = VK_TRUE;
  }
  if (auto* ours = vk::find_in_out_chain<VkPhysicalDeviceShaderInstrumentationFeaturesARM>(features,
                                                                                           kType)) {
    ours->shaderInstrumentation = VK_TRUE;
  }
}

VKAPI_ATTR void VKAPI_CALL GetPhysicalDeviceProperties2(VkPhysicalDevice d,
                                                        VkPhysicalDeviceProperties2* properties) {
  constexpr VkStructureType kType =
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INSTRUMENTATION_PROPERTIES_ARM;
  {
    const vk::UnlinkedStructs without(properties, {kType});
    instance_table(d).GetPhysicalDeviceProperties2(d, properties);
  }
  if (auto* ours = vk::find_in_out_chain<VkPhysicalDeviceShaderInstrumentationPropertiesARM>(
          properties, kType)) {
    ours->numMetrics = kMetricCount;
    ours->perBasicBlockGranularity = VK_TRUE;
  }
}

VKAPI_ATTR void VKAPI_CALL GetPhysicalDeviceQueueFamilyProperties(
    VkPhysicalDevice d, uint32_t* count, VkQueueFamilyProperties* families) {
  instance_table(d).GetPhysicalDeviceQueueFamilyProperties(d, count, families);
  if (!families || !compute_only()) return;
  for (uint32_t i = 0; i < *count; ++i) {
    families[i].queueFlags &= ~VkQueueFlags{VK_QUEUE_GRAPHICS_BIT};
  }
}

}  // namespace

bool has_boundaries() { return std::getenv("FAKE_FRAME_BOUNDARY") != nullptr; }

bool has_statistics() { return std::getenv("FAKE_STATISTICS") != nullptr; }

bool compute_only() { return std::getenv("FAKE_COMPUTE_ONLY") != nullptr; }

void add_physical_device(Hooks& instance) {
  instance.push_back(
      vk::hook("vkEnumerateDeviceExtensionProperties", EnumerateDeviceExtensionProperties));
  for (const char* name : {"vkGetPhysicalDeviceFeatures2", "vkGetPhysicalDeviceFeatures2KHR"}) {
    instance.push_back(vk::hook(name, GetPhysicalDeviceFeatures2));
  }
  for (const char* name : {"vkGetPhysicalDeviceProperties2", "vkGetPhysicalDeviceProperties2KHR"}) {
    instance.push_back(vk::hook(name, GetPhysicalDeviceProperties2));
  }
  instance.push_back(
      vk::hook("vkGetPhysicalDeviceQueueFamilyProperties", GetPhysicalDeviceQueueFamilyProperties));
  instance.push_back(
      vk::hook("vkEnumeratePhysicalDeviceShaderInstrumentationMetricsARM", EnumerateMetrics));
}

}  // namespace tally::fake
