#include "capture/layer/device_setup.h"

#include <fmt/format.h>
#include <tally/vulkan_arm.h>

#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "capture/record/region_capture.h"
#include "catalogue/catalogue.h"
#include "vk/layer.h"
#include "vk/own_call.h"

namespace tally::capture {
namespace {

constexpr const char* kExtension = VK_ARM_SHADER_INSTRUMENTATION_EXTENSION_NAME;

std::string hex(std::span<const uint8_t> bytes) {
  std::string text;
  for (const uint8_t byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

// Returns the driver's id; 0 if it tells none.
VkDriverId describe(const InstanceTable& table, VkPhysicalDevice device,
                    stream::Device& description) {
  VkPhysicalDeviceProperties properties{};
  table.GetPhysicalDeviceProperties(device, &properties);
  description.name = properties.deviceName;
  description.type = catalogue::device_type_name(properties.deviceType);
  description.vendor_id = properties.vendorID;
  description.device_id = properties.deviceID;
  description.api_version = properties.apiVersion;
  description.driver_version = properties.driverVersion;
  description.timestamp_period_ns = static_cast<double>(properties.limits.timestampPeriod);
  if (!table.GetPhysicalDeviceProperties2 || properties.apiVersion < VK_API_VERSION_1_1) return {};
  VkPhysicalDeviceDriverProperties driver{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES};
  VkPhysicalDeviceIDProperties id{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES};
  VkPhysicalDeviceProperties2 all{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, &id};
  if (properties.apiVersion >= VK_API_VERSION_1_2) id.pNext = &driver;
  table.GetPhysicalDeviceProperties2(device, &all);
  description.uuid = hex(id.deviceUUID);
  description.driver_name = driver.driverName;
  description.driver_info = driver.driverInfo;
  return driver.driverID;
}

bool offers_feature(const InstanceTable& table, VkPhysicalDevice device) {
  VkPhysicalDeviceShaderInstrumentationFeaturesARM features{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INSTRUMENTATION_FEATURES_ARM};
  VkPhysicalDeviceFeatures2 all{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, &features};
  table.GetPhysicalDeviceFeatures2(device, &all);
  return features.shaderInstrumentation == VK_TRUE;
}

MetricLayout describe_metrics(const InstanceTable& table, VkPhysicalDevice device,
                              stream::Device& description) {
  VkPhysicalDeviceShaderInstrumentationPropertiesARM properties{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INSTRUMENTATION_PROPERTIES_ARM};
  VkPhysicalDeviceProperties2 all{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, &properties};
  table.GetPhysicalDeviceProperties2(device, &all);
  description.per_block = properties.perBasicBlockGranularity == VK_TRUE;
  uint32_t count = properties.numMetrics;
  std::vector<VkShaderInstrumentationMetricDescriptionARM> descriptions(
      count, {VK_STRUCTURE_TYPE_SHADER_INSTRUMENTATION_METRIC_DESCRIPTION_ARM, nullptr, {}, {}});
  table.EnumeratePhysicalDeviceShaderInstrumentationMetricsARM(device, &count, descriptions.data());
  std::vector<stream::Metric> metrics;
  for (const auto& metric : descriptions) {
    metrics.push_back({.name = metric.name, .description = metric.description});
  }
  return MetricLayout::of(std::move(metrics));
}

bool offers_counters(const InstanceTable& table, VkPhysicalDevice device) {
  return table.GetPhysicalDeviceFeatures2 && table.GetPhysicalDeviceProperties2 &&
         offers_extension(table, device, kExtension) &&
         table.EnumeratePhysicalDeviceShaderInstrumentationMetricsARM &&
         offers_feature(table, device);
}

std::string reason_against(const InstanceTable& table, VkPhysicalDevice device,
                           const VkDeviceCreateInfo& info) {
  if (enables_extension(info, kExtension)) {
    return fmt::format("the application uses {} itself", kExtension);
  }
  if (!offers_counters(table, device)) {
    const vk::OwnFailure failure = vk::take_own_failure();
    return fmt::format("neither the driver nor VK_LAYER_TALLY_counters offers {}{}", kExtension,
                       failure.what ? ": " + failure.text() : "");
  }
  return {};
}

// True if the application enabled dynamic rendering.
bool renders_dynamically(const VkDeviceCreateInfo& info) {
  const auto* core = vk::find_in_chain<VkPhysicalDeviceVulkan13Features>(
      info.pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES);
  const auto* own = vk::find_in_chain<VkPhysicalDeviceDynamicRenderingFeatures>(
      info.pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DYNAMIC_RENDERING_FEATURES);
  return (core && core->dynamicRendering == VK_TRUE) || (own && own->dynamicRendering == VK_TRUE);
}

StatisticsSetup inspect_statistics(const Instance& instance, VkPhysicalDevice device,
                                   const VkDeviceCreateInfo& info) {
  constexpr const char* kName = VK_KHR_PIPELINE_EXECUTABLE_PROPERTIES_EXTENSION_NAME;
  using Features = VkPhysicalDevicePipelineExecutablePropertiesFeaturesKHR;
  constexpr VkStructureType kType =
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PIPELINE_EXECUTABLE_PROPERTIES_FEATURES_KHR;
  const auto* asked = vk::find_in_chain<Features>(info.pNext, kType);
  StatisticsSetup setup;
  setup.asked = enables_extension(info, kName) && asked && asked->pipelineExecutableInfo == VK_TRUE;
  if (!instance.settings().statistics) return setup;
  Features offered{kType};
  if (instance.table().GetPhysicalDeviceFeatures2 &&
      offers_extension(instance.table(), device, kName)) {
    VkPhysicalDeviceFeatures2 all{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, &offered};
    instance.table().GetPhysicalDeviceFeatures2(device, &all);
  }
  setup.all = offered.pipelineExecutableInfo == VK_TRUE;
  setup.missing = !setup.all;
  return setup;
}

bool offers_host_query_reset(const InstanceTable& table, VkPhysicalDevice device,
                             uint32_t version) {
  if (version < VK_API_VERSION_1_2 || !table.GetPhysicalDeviceFeatures2) return false;
  VkPhysicalDeviceHostQueryResetFeatures features{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_HOST_QUERY_RESET_FEATURES};
  VkPhysicalDeviceFeatures2 all{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, &features};
  table.GetPhysicalDeviceFeatures2(device, &all);
  return features.hostQueryReset == VK_TRUE;
}

// Counts that follow from the inputs are those of executions alone, on one physical device.
// Subgroups are divided in the same way each time where they have one size.
LaunchRules inspect_launches(const InstanceTable& table, VkPhysicalDevice device,
                             const VkDeviceCreateInfo& info, const MetricLayout& metrics,
                             uint32_t version) {
  const auto* group = vk::find_in_chain<VkDeviceGroupDeviceCreateInfo>(
      info.pNext, VK_STRUCTURE_TYPE_DEVICE_GROUP_DEVICE_CREATE_INFO);
  LaunchRules rules;
  rules.enabled = metrics.executions && metrics.returned.size() == 1 &&
                  !(group && group->physicalDeviceCount > 1);
  if (version < VK_API_VERSION_1_3 &&
      !offers_extension(table, device, VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME)) {
    rules.subgroups = rules.enabled;
    return rules;
  }
  VkPhysicalDeviceSubgroupSizeControlProperties sizes{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES};
  VkPhysicalDeviceProperties2 all{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, &sizes};
  table.GetPhysicalDeviceProperties2(device, &all);
  rules.subgroups = rules.enabled && sizes.minSubgroupSize == sizes.maxSubgroupSize;
  return rules;
}

Boundaries inspect_boundaries(const InstanceTable& table, VkPhysicalDevice device,
                              const VkDeviceCreateInfo& info) {
  Boundaries boundaries;
  boundaries.enabled = enables_extension(info, VK_EXT_FRAME_BOUNDARY_EXTENSION_NAME);
  if (!boundaries.enabled) return boundaries;
  const auto* features = vk::find_in_chain<VkPhysicalDeviceFrameBoundaryFeaturesEXT>(
      info.pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FRAME_BOUNDARY_FEATURES_EXT);
  boundaries.feature = features && features->frameBoundary == VK_TRUE;
  boundaries.native = offers_extension(table, device, VK_EXT_FRAME_BOUNDARY_EXTENSION_NAME);
  return boundaries;
}

}  // namespace

bool hides_extensions(const Instance& instance, VkPhysicalDevice device) {
  return instance.settings().hide_extensions && instance.settings().wants_anything() &&
         offers_counters(instance.table(), device);
}

DeviceSetup inspect_device(const Instance& instance, VkPhysicalDevice physical_device,
                           const VkDeviceCreateInfo& info, Id id) {
  const InstanceTable& table = instance.table();
  DeviceSetup setup;
  setup.physical_device = physical_device;
  setup.dynamic_rendering = renders_dynamically(info);
  setup.uncounted = vk::enabled_hidden_extensions(info);
  setup.boundaries = inspect_boundaries(table, physical_device, info);
  setup.description.id = id;
  // The specification lets such timestamps be written earlier, so each driver has to be tried.
  const VkDriverId driver = describe(table, physical_device, setup.description);
  setup.timestamps.held_by_barriers = driver == VK_DRIVER_ID_NVIDIA_PROPRIETARY;
  setup.timestamps.held_by_draws = driver == VK_DRIVER_ID_MESA_LLVMPIPE;
  setup.timestamps.in_each_tile = driver == VK_DRIVER_ID_MESA_LLVMPIPE;
  setup.timestamps.copied = driver == VK_DRIVER_ID_MESA_LLVMPIPE;
  setup.description.not_captured = reason_against(table, physical_device, info);
  const char* timelines = VK_KHR_TIMELINE_SEMAPHORE_EXTENSION_NAME;
  setup.add_timeline_extension =
      !enables_extension(info, timelines) && offers_extension(table, physical_device, timelines);
  setup.timestamps.host_reset =
      instance.settings().times != Times::Off &&
      offers_host_query_reset(table, physical_device, setup.description.api_version);
  setup.statistics = inspect_statistics(instance, physical_device, info);
  if (setup.description.not_captured.empty()) {
    setup.metrics = describe_metrics(table, physical_device, setup.description);
    setup.description.metrics = setup.metrics.metrics;
    setup.launch_rules = inspect_launches(table, physical_device, info, setup.metrics,
                                          setup.description.api_version);
    const bool cpu =
        setup.description.type == catalogue::device_type_name(VK_PHYSICAL_DEVICE_TYPE_CPU);
    setup.launch_rules.makes_plain = cpu && !instance.settings().repeat_at_once;
  }
  uint32_t count = 0;
  table.GetPhysicalDeviceQueueFamilyProperties(physical_device, &count, nullptr);
  setup.families.resize(count);
  table.GetPhysicalDeviceQueueFamilyProperties(physical_device, &count, setup.families.data());
  if (instance.settings().regions && !instance.settings().socket.empty() &&
      setup.description.not_captured.empty()) {
    setup.regions = inspect_regions(table, physical_device, info, setup.families);
    setup.regions.by_draw = instance.settings().region_draws;
    setup.description.region_counters = setup.regions.names;
  }
  if (table.GetPhysicalDeviceMemoryProperties) {
    table.GetPhysicalDeviceMemoryProperties(physical_device, &setup.regions.memory);
  }
  return setup;
}

bool adds_boundaries(const Instance& instance, VkPhysicalDevice device) {
  return !instance.settings().socket.empty() && offers_counters(instance.table(), device) &&
         !offers_extension(instance.table(), device, VK_EXT_FRAME_BOUNDARY_EXTENSION_NAME);
}

ChangedDeviceInfo::ChangedDeviceInfo(const VkDeviceCreateInfo& info)
    : info_(info),
      chain_(info.pNext),
      extensions_(info.ppEnabledExtensionNames,
                  info.ppEnabledExtensionNames + info.enabledExtensionCount) {}

const VkDeviceCreateInfo* ChangedDeviceInfo::get() {
  info_.enabledExtensionCount = static_cast<uint32_t>(extensions_.size());
  info_.ppEnabledExtensionNames = extensions_.data();
  info_.pNext = chain_.head();
  return &info_;
}

void ChangedDeviceInfo::remove_boundaries() {
  std::erase_if(extensions_, [](const char* name) {
    return std::string_view(name) == VK_EXT_FRAME_BOUNDARY_EXTENSION_NAME;
  });
  chain_.remove(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FRAME_BOUNDARY_FEATURES_EXT);
}

void ChangedDeviceInfo::enable_counters(const DeviceSetup& setup) {
  extensions_.push_back(kExtension);
  chain_.add(VkPhysicalDeviceShaderInstrumentationFeaturesARM{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INSTRUMENTATION_FEATURES_ARM, nullptr, VK_TRUE});
  if (setup.add_timeline_extension) extensions_.push_back(VK_KHR_TIMELINE_SEMAPHORE_EXTENSION_NAME);
  enable(&VkPhysicalDeviceTimelineSemaphoreFeatures::timelineSemaphore,
         VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES,
         &VkPhysicalDeviceVulkan12Features::timelineSemaphore);
  if (setup.timestamps.host_reset) {
    enable(&VkPhysicalDeviceHostQueryResetFeatures::hostQueryReset,
           VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_HOST_QUERY_RESET_FEATURES,
           &VkPhysicalDeviceVulkan12Features::hostQueryReset);
  }
  if (setup.statistics.all && !setup.statistics.asked) enable_statistics();
  if (!setup.regions.enabled) return;
  extensions_.push_back(VK_ARM_PERFORMANCE_COUNTERS_BY_REGION_EXTENSION_NAME);
  chain_.add(VkPhysicalDevicePerformanceCountersByRegionFeaturesARM{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PERFORMANCE_COUNTERS_BY_REGION_FEATURES_ARM, nullptr,
      VK_TRUE});
  if (setup.regions.add_address_extension)
    extensions_.push_back(VK_KHR_BUFFER_DEVICE_ADDRESS_EXTENSION_NAME);
  enable(&VkPhysicalDeviceBufferDeviceAddressFeatures::bufferDeviceAddress,
         VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_BUFFER_DEVICE_ADDRESS_FEATURES,
         &VkPhysicalDeviceVulkan12Features::bufferDeviceAddress);
}

void ChangedDeviceInfo::enable_statistics() {
  constexpr const char* kName = VK_KHR_PIPELINE_EXECUTABLE_PROPERTIES_EXTENSION_NAME;
  if (!enables_extension(info_, kName)) extensions_.push_back(kName);
  using Features = VkPhysicalDevicePipelineExecutablePropertiesFeaturesKHR;
  constexpr VkStructureType kType =
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PIPELINE_EXECUTABLE_PROPERTIES_FEATURES_KHR;
  if (auto* known = chain_.find<Features>(kType)) {
    known->pipelineExecutableInfo = VK_TRUE;
  } else {
    chain_.add(Features{kType, nullptr, VK_TRUE});
  }
}

template <typename Own>
void ChangedDeviceInfo::enable(VkBool32 Own::*own, VkStructureType own_type,
                               VkBool32 VkPhysicalDeviceVulkan12Features::*core) {
  if (auto* features = chain_.find<VkPhysicalDeviceVulkan12Features>(
          VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES)) {
    features->*core = VK_TRUE;
  } else if (auto* known = chain_.find<Own>(own_type)) {
    known->*own = VK_TRUE;
  } else {
    Own added{};
    added.sType = own_type;
    added.*own = VK_TRUE;
    chain_.add(added);
  }
}

}  // namespace tally::capture
