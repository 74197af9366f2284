// The capabilities of the driver, and its rules for the creation of a device.
#include "stand_in/native/driver.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>

namespace tally::test::native {
namespace {

constexpr auto kFeatures = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INSTRUMENTATION_FEATURES_ARM;
constexpr auto kProperties =
    VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INSTRUMENTATION_PROPERTIES_ARM;
constexpr auto kBoundaryFeatures = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FRAME_BOUNDARY_FEATURES_EXT;

void add_features(VkPhysicalDeviceFeatures2& features) {
  if (auto* boundary = vk::find_in_out_chain<VkPhysicalDeviceFrameBoundaryFeaturesEXT>(
          features.pNext, kBoundaryFeatures)) {
    if (!has_boundaries()) broken("it is asked for the feature of an extension that it lacks");
    boundary->frameBoundary = VK_TRUE;
  }
  if (auto* statistics =
          vk::find_in_out_chain<VkPhysicalDevicePipelineExecutablePropertiesFeaturesKHR>(
              features.pNext, kStatisticsFeatures)) {
    statistics->pipelineExecutableInfo = has_statistics() ? VK_TRUE : VK_FALSE;
  }
  if (auto* uncountable = vk::find_in_out_chain<VkPhysicalDeviceSubpassShadingFeaturesHUAWEI>(
          features.pNext, kUncountableFeatures)) {
    uncountable->subpassShading = VK_TRUE;
  }
  if (auto* ours = vk::find_in_out_chain<VkPhysicalDeviceShaderInstrumentationFeaturesARM>(
          features.pNext, kFeatures)) {
    ours->shaderInstrumentation = VK_TRUE;
  }
}

void add_properties(VkPhysicalDevice, VkPhysicalDeviceProperties2& properties) {
  if (auto* ours = vk::find_in_out_chain<VkPhysicalDeviceShaderInstrumentationPropertiesARM>(
          properties.pNext, kProperties)) {
    ours->numMetrics = kMetricCount;
    ours->perBasicBlockGranularity = VK_TRUE;
  }
}

VKAPI_ATTR void VKAPI_CALL GetPhysicalDeviceQueueFamilyProperties(
    VkPhysicalDevice d, uint32_t* count, VkQueueFamilyProperties* families) {
  instance_of(d).next.GetPhysicalDeviceQueueFamilyProperties(d, count, families);
  if (!families || !compute_only()) return;
  for (uint32_t i = 0; i < *count; ++i) {
    families[i].queueFlags &= ~VkQueueFlags{VK_QUEUE_GRAPHICS_BIT};
  }
}

VKAPI_ATTR void VKAPI_CALL CmdSubpassShading(VkCommandBuffer) {}

Driver make() {
  Hooks hooks{
      vk::hook("vkCmdSubpassShadingHUAWEI", CmdSubpassShading),
      vk::hook("vkGetPhysicalDeviceQueueFamilyProperties", GetPhysicalDeviceQueueFamilyProperties),
  };
  add_instrumentation(hooks);
  add_commands(hooks);
  add_pipelines(hooks);
  std::vector<VkExtensionProperties> extensions{
      {VK_ARM_SHADER_INSTRUMENTATION_EXTENSION_NAME, VK_ARM_SHADER_INSTRUMENTATION_SPEC_VERSION},
      {VK_HUAWEI_SUBPASS_SHADING_EXTENSION_NAME, 1}};
  if (has_boundaries()) extensions.push_back({VK_EXT_FRAME_BOUNDARY_EXTENSION_NAME, 1});
  if (has_statistics()) {
    extensions.push_back({VK_KHR_PIPELINE_EXECUTABLE_PROPERTIES_EXTENSION_NAME, 1});
  }
  return {
      .extensions = std::move(extensions),
      .structs = {kFeatures, kProperties, kBoundaryFeatures, kUncountableFeatures,
                  kStatisticsFeatures},
      .add_features = add_features,
      .add_properties = add_properties,
      .make_device = []() -> std::unique_ptr<test::Device> { return std::make_unique<Device>(); },
      .hooks = vk::HookTable(std::move(hooks)),
  };
}

}  // namespace

void broken(const char* rule) {
  const char* path = std::getenv("TALLY_TEST_NATIVE_REPORT");
  FILE* file = path ? std::fopen(path, "a") : nullptr;
  std::fprintf(file ? file : stderr, "%s\n", rule);
  if (file) std::fclose(file);
}

void note(const char* variable) {
  const char* path = std::getenv(variable);
  FILE* file = path ? std::fopen(path, "a") : nullptr;
  if (!file) return;
  std::fputc('x', file);
  std::fclose(file);
}

bool has_boundaries() { return std::getenv("TALLY_TEST_NATIVE_FRAME_BOUNDARY") != nullptr; }

bool has_statistics() { return std::getenv("TALLY_TEST_NATIVE_STATISTICS") != nullptr; }

bool compute_only() { return std::getenv("TALLY_TEST_NATIVE_COMPUTE_ONLY") != nullptr; }

void Device::adapt(const VkDeviceCreateInfo& wanted, DeviceInfoBelow&) {
  const auto enables = [&](const char* extension) {
    const std::span all(wanted.ppEnabledExtensionNames, wanted.enabledExtensionCount);
    return std::ranges::any_of(all,
                               [&](const char* name) { return std::strcmp(name, extension) == 0; });
  };
  const auto has_struct = [&](VkStructureType type) {
    return vk::find_in_chain<VkBaseInStructure>(wanted.pNext, type) != nullptr;
  };
  if (enables(VK_EXT_FRAME_BOUNDARY_EXTENSION_NAME) && !has_boundaries()) {
    broken("an extension is enabled that it lacks");
  }
  if (enables(VK_KHR_PIPELINE_EXECUTABLE_PROPERTIES_EXTENSION_NAME) && !has_statistics()) {
    broken("statistics are enabled that it lacks");
  }
  if (has_struct(kBoundaryFeatures) && !has_boundaries()) {
    broken("a feature is enabled that it lacks");
  }
  if (has_struct(kFeatures) != enables(VK_ARM_SHADER_INSTRUMENTATION_EXTENSION_NAME)) {
    broken("the feature without the extension, or the other way round");
  }
}

void Device::end() {
  if (!objects.empty()) broken("objects outlive the device");
}

const Driver& driver() {
  static const auto* all = new Driver(make());
  return *all;
}

}  // namespace tally::test::native
