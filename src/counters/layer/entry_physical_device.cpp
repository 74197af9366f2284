// The features and properties of physical devices, and vkCreateDevice.
#include <fmt/format.h>

#include <cstring>
#include <optional>

#include "counters/layer/device_creation.h"
#include "counters/layer/entry_points.h"
#include "vk/boundary.h"
#include "vk/layer.h"

namespace tally::counters {
namespace {

const VkExtensionProperties kBlockCounters = {VK_ARM_SHADER_INSTRUMENTATION_EXTENSION_NAME,
                                              VK_ARM_SHADER_INSTRUMENTATION_SPEC_VERSION};
const VkExtensionProperties kRegionCounters = {VK_ARM_PERFORMANCE_COUNTERS_BY_REGION_EXTENSION_NAME,
                                               VK_ARM_PERFORMANCE_COUNTERS_BY_REGION_SPEC_VERSION};

const VkExtensionProperties kKhrPerformanceQueries = {VK_KHR_PERFORMANCE_QUERY_EXTENSION_NAME,
                                                      VK_KHR_PERFORMANCE_QUERY_SPEC_VERSION};
const VkExtensionProperties kIntelPerformanceQueries = {VK_INTEL_PERFORMANCE_QUERY_EXTENSION_NAME,
                                                        VK_INTEL_PERFORMANCE_QUERY_SPEC_VERSION};
const VkExtensionProperties kPrimitivesGenerated = {
    VK_EXT_PRIMITIVES_GENERATED_QUERY_EXTENSION_NAME,
    VK_EXT_PRIMITIVES_GENERATED_QUERY_SPEC_VERSION};
const VkExtensionProperties kElapsedTimer = {VK_QCOM_ELAPSED_TIMER_QUERY_EXTENSION_NAME,
                                             VK_QCOM_ELAPSED_TIMER_QUERY_SPEC_VERSION};

VkResult enumerate_extensions(VkPhysicalDevice handle, const char* layer, uint32_t* count,
                              VkExtensionProperties* properties) {
  Instance& instance = *find_instance(handle);
  const bool ours = layer && std::strcmp(layer, kLayerName) == 0;
  if (layer && !ours)
    return instance.next().EnumerateDeviceExtensionProperties(handle, layer, count, properties);
  const PhysicalDevice& gpu = instance.physical_device(handle);
  std::vector<VkExtensionProperties> all;
  if (!ours) all = gpu.extensions;
  const auto add = [&](bool offered, const VkExtensionProperties& extension) {
    const bool listed = !ours && gpu.has_extension(extension.extensionName);
    if (offered && !listed) all.push_back(extension);
  };
  add(gpu.offers_regions(), kRegionCounters);
  add(gpu.offers_emulation(), kBlockCounters);
  add(gpu.offers_performance_queries(), kKhrPerformanceQueries);
  add(gpu.offers_intel_queries(), kIntelPerformanceQueries);
  add(gpu.offers_primitives_generated(), kPrimitivesGenerated);
  add(gpu.offers_elapsed_timer(), kElapsedTimer);
  return vk::write_array<VkExtensionProperties>(all, count, properties);
}

VKAPI_ATTR VkResult VKAPI_CALL hook_enumerate_extensions(VkPhysicalDevice gpu, const char* layer,
                                                         uint32_t* count,
                                                         VkExtensionProperties* properties) {
  return vk::guarded([&] { return enumerate_extensions(gpu, layer, count, properties); });
}

VKAPI_ATTR VkResult VKAPI_CALL hook_enumerate_layers(VkPhysicalDevice, uint32_t* count,
                                                     VkLayerProperties* properties) {
  const VkLayerProperties layer = {"VK_LAYER_TALLY_counters", VK_HEADER_VERSION_COMPLETE, 1,
                                   "Exact GPU performance counters on every driver"};
  return vk::write_array<VkLayerProperties>({&layer, 1}, count, properties);
}

// Removes a struct of the layer from a chain that the driver fills, for the lifetime of this
// object. Null if there is none, or if the driver supports it.
template <typename Struct>
struct OurStruct {
  OurStruct(void* head, VkStructureType type, bool native) {
    if (native) return;
    data = vk::find_in_out_chain<Struct>(static_cast<VkBaseOutStructure*>(head)->pNext, type);
    if (data) unlinked.emplace(head, std::initializer_list<VkStructureType>{type});
  }

  // For features.
  void fill(const PhysicalDevice& gpu) const {
    if (!data) return;
    Struct offered = features_of<Struct>(gpu);
    offered.sType = data->sType;
    offered.pNext = data->pNext;
    *data = offered;
  }

  Struct* data = nullptr;
  std::optional<vk::UnlinkedStructs> unlinked;
};

// Queries that the layer emulates.
void add_query_features(const Instance& instance, const PhysicalDevice& gpu,
                        VkPhysicalDeviceFeatures& features) {
  if (gpu.offers_inherited_queries(instance.options().emulate_queries)) {
    features.inheritedQueries = VK_TRUE;
  }
  if (gpu.offers_statistics()) features.pipelineStatisticsQuery = VK_TRUE;
  if (gpu.offers_occlusion()) features.occlusionQueryPrecise = VK_TRUE;
}

void add_query_features(const Instance& instance, const PhysicalDevice& gpu,
                        VkPhysicalDeviceFeatures2& features) {
  add_query_features(instance, gpu, features.features);
  auto* mesh = vk::find_in_out_chain<VkPhysicalDeviceMeshShaderFeaturesEXT>(
      static_cast<VkBaseOutStructure*>(features.pNext),
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MESH_SHADER_FEATURES_EXT);
  if (mesh && gpu.offers_mesh_queries()) mesh->meshShaderQueries = VK_TRUE;
}

VKAPI_ATTR void VKAPI_CALL hook_get_core_features(VkPhysicalDevice handle,
                                                  VkPhysicalDeviceFeatures* features) {
  vk::guarded_void([&] {
    Instance& instance = *find_instance(handle);
    instance.next().GetPhysicalDeviceFeatures(handle, features);
    add_query_features(instance, instance.physical_device(handle), *features);
  });
}

void get_features(VkPhysicalDevice handle, VkPhysicalDeviceFeatures2* features) {
  Instance& instance = *find_instance(handle);
  const PhysicalDevice& gpu = instance.physical_device(handle);
  const OurStruct<VkPhysicalDeviceShaderInstrumentationFeaturesARM> instrumentation(
      features, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INSTRUMENTATION_FEATURES_ARM, gpu.native);
  const OurStruct<VkPhysicalDevicePerformanceCountersByRegionFeaturesARM> regions(
      features, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PERFORMANCE_COUNTERS_BY_REGION_FEATURES_ARM,
      gpu.native_regions);
  const OurStruct<VkPhysicalDevicePrimitivesGeneratedQueryFeaturesEXT> primitives(
      features, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PRIMITIVES_GENERATED_QUERY_FEATURES_EXT,
      gpu.primitives_generated_query);
  const OurStruct<VkPhysicalDeviceElapsedTimerQueryFeaturesQCOM> elapsed_timer(
      features, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ELAPSED_TIMER_QUERY_FEATURES_QCOM,
      gpu.native_elapsed_timer);
  const OurStruct<VkPhysicalDevicePerformanceQueryFeaturesKHR> performance(
      features, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PERFORMANCE_QUERY_FEATURES_KHR,
      gpu.native_performance_queries);
  instance.next().GetPhysicalDeviceFeatures2(handle, features);
  add_query_features(instance, gpu, *features);
  primitives.fill(gpu);
  elapsed_timer.fill(gpu);
  performance.fill(gpu);
  instrumentation.fill(gpu);
  regions.fill(gpu);
}

VKAPI_ATTR void VKAPI_CALL hook_get_features(VkPhysicalDevice gpu,
                                             VkPhysicalDeviceFeatures2* features) {
  vk::guarded_void([&] { get_features(gpu, features); });
}

void fill(VkPhysicalDeviceShaderInstrumentationPropertiesARM& ours, bool offered, size_t metrics) {
  ours.numMetrics = offered ? static_cast<uint32_t>(metrics) : 0;
  ours.perBasicBlockGranularity = offered ? VK_TRUE : VK_FALSE;
}

void fill(VkPhysicalDevicePerformanceCountersByRegionPropertiesARM& ours,
          const RegionProperties& properties) {
  ours.maxPerRegionPerformanceCounters = properties.counters;
  ours.performanceCounterRegionSize = properties.extent();
  ours.rowStrideAlignment = properties.row_alignment;
  ours.regionAlignment = properties.region_alignment;
  ours.identityTransformOrder = VK_TRUE;
}

// For emulated timestamps, which are in nanoseconds unless the driver has a unit.
void add_timestamp_limits(const Instance& instance, const PhysicalDevice& gpu,
                          VkPhysicalDeviceLimits& limits) {
  if (!gpu.emulates_timestamps(instance.options().emulate_queries)) return;
  limits.timestampPeriod = timestamp_period(gpu);
  limits.timestampComputeAndGraphics = VK_TRUE;
  for (const VkQueueFamilyProperties& family : gpu.queue_families) {
    constexpr VkQueueFlags kBoth = VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT;
    if ((family.queueFlags & kBoth) == VK_QUEUE_GRAPHICS_BIT) {
      limits.timestampComputeAndGraphics = VK_FALSE;
    }
  }
}

// The layer's own pointers are behind the bytes of the application, where there are more than the
// guaranteed ones.
void limit_push_data(const PhysicalDevice& gpu, VkPhysicalDeviceProperties2& properties) {
  auto* heaps = vk::find_in_out_chain<VkPhysicalDeviceDescriptorHeapPropertiesEXT>(
      static_cast<VkBaseOutStructure*>(properties.pNext),
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DESCRIPTOR_HEAP_PROPERTIES_EXT);
  const uint32_t offered = gpu.offered_push_data();
  if (heaps && offered != 0) heaps->maxPushDataSize = offered;
}

void get_properties(VkPhysicalDevice handle, VkPhysicalDeviceProperties2* properties) {
  Instance& instance = *find_instance(handle);
  const PhysicalDevice& gpu = instance.physical_device(handle);
  const OurStruct<VkPhysicalDeviceShaderInstrumentationPropertiesARM> instrumentation(
      properties, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INSTRUMENTATION_PROPERTIES_ARM,
      gpu.native);
  const OurStruct<VkPhysicalDevicePerformanceCountersByRegionPropertiesARM> regions(
      properties, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PERFORMANCE_COUNTERS_BY_REGION_PROPERTIES_ARM,
      gpu.native_regions);
  const OurStruct<VkPhysicalDevicePerformanceQueryPropertiesKHR> performance(
      properties, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PERFORMANCE_QUERY_PROPERTIES_KHR,
      gpu.native_performance_queries);
  instance.next().GetPhysicalDeviceProperties2(handle, properties);
  add_timestamp_limits(instance, gpu, properties->properties.limits);
  limit_push_data(gpu, *properties);
  auto* feedback = vk::find_in_out_chain<VkPhysicalDeviceTransformFeedbackPropertiesEXT>(
      static_cast<VkBaseOutStructure*>(properties->pNext),
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TRANSFORM_FEEDBACK_PROPERTIES_EXT);
  if (feedback && gpu.offers_transform_feedback_queries()) {
    feedback->transformFeedbackQueries = VK_TRUE;
  }
  if (performance.data) {
    performance.data->allowCommandBufferQueryCopies =
        gpu.offers_performance_queries() ? VK_TRUE : VK_FALSE;
  }
  if (instrumentation.data) {
    fill(*instrumentation.data, gpu.offers_emulation(), instance.metrics().size());
  }
  if (regions.data) {
    RegionProperties offered = region_properties(gpu, instance.options());
    if (!gpu.offers_regions()) offered.counters = 0;
    fill(*regions.data, offered);
  }
}

// Queue families that support compute have them.
void add_timestamp_bits(const Instance& instance, const PhysicalDevice& gpu,
                        VkQueueFamilyProperties& family) {
  if (!gpu.emulates_timestamps(instance.options().emulate_queries)) return;
  const bool computes = (family.queueFlags & VK_QUEUE_COMPUTE_BIT) != 0;
  family.timestampValidBits = computes ? timestamp_bits(gpu) : 0;
}

VKAPI_ATTR void VKAPI_CALL hook_get_core_properties(VkPhysicalDevice handle,
                                                    VkPhysicalDeviceProperties* properties) {
  vk::guarded_void([&] {
    Instance& instance = *find_instance(handle);
    instance.next().GetPhysicalDeviceProperties(handle, properties);
    add_timestamp_limits(instance, instance.physical_device(handle), properties->limits);
  });
}

VKAPI_ATTR void VKAPI_CALL hook_get_properties(VkPhysicalDevice gpu,
                                               VkPhysicalDeviceProperties2* properties) {
  vk::guarded_void([&] { get_properties(gpu, properties); });
}

void copy_text(std::string_view text, char (&target)[VK_MAX_DESCRIPTION_SIZE]) {
  const size_t length = std::min(text.size(), sizeof target - 1);
  std::memcpy(target, text.data(), length);
  target[length] = '\0';
}

// Keeps the pNext of the application's structs.
VkResult write_metrics(const std::vector<Metric>& metrics, uint32_t* count,
                       VkShaderInstrumentationMetricDescriptionARM* descriptions) {
  const auto available = static_cast<uint32_t>(metrics.size());
  if (!descriptions) {
    *count = available;
    return VK_SUCCESS;
  }
  *count = std::min(*count, available);
  for (uint32_t i = 0; i < *count; ++i) {
    copy_text(metrics[i].counter->name, descriptions[i].name);
    copy_text(metrics[i].counter->description, descriptions[i].description);
  }
  return *count < available ? VK_INCOMPLETE : VK_SUCCESS;
}

VkResult enumerate_metrics(VkPhysicalDevice handle, uint32_t* count,
                           VkShaderInstrumentationMetricDescriptionARM* descriptions) {
  Instance& instance = *find_instance(handle);
  const PhysicalDevice& gpu = instance.physical_device(handle);
  if (!gpu.native) {
    static const std::vector<Metric> none;
    return write_metrics(gpu.offers_emulation() ? instance.metrics() : none, count, descriptions);
  }
  const auto native = instance.next().EnumeratePhysicalDeviceShaderInstrumentationMetricsARM;
  return native ? native(handle, count, descriptions) : VK_ERROR_INITIALIZATION_FAILED;
}

VKAPI_ATTR VkResult VKAPI_CALL
hook_enumerate_metrics(VkPhysicalDevice gpu, uint32_t* count,
                       VkShaderInstrumentationMetricDescriptionARM* descriptions) {
  return vk::guarded([&] { return enumerate_metrics(gpu, count, descriptions); });
}

VkResult enumerate_region(VkPhysicalDevice handle, uint32_t family, uint32_t* count,
                          VkPerformanceCounterARM* counters,
                          VkPerformanceCounterDescriptionARM* descriptions) {
  Instance& instance = *find_instance(handle);
  if (!instance.physical_device(handle).native_regions) {
    return enumerate_region_counters(handle, family, count, counters, descriptions);
  }
  const auto native =
      instance.next().EnumeratePhysicalDeviceQueueFamilyPerformanceCountersByRegionARM;
  return native ? native(handle, family, count, counters, descriptions)
                : VK_ERROR_INITIALIZATION_FAILED;
}

VKAPI_ATTR VkResult VKAPI_CALL hook_enumerate_region(
    VkPhysicalDevice gpu, uint32_t family, uint32_t* count, VkPerformanceCounterARM* counters,
    VkPerformanceCounterDescriptionARM* descriptions) {
  return vk::guarded([&] { return enumerate_region(gpu, family, count, counters, descriptions); });
}

VKAPI_ATTR void VKAPI_CALL hook_core_queue_families(VkPhysicalDevice handle, uint32_t* count,
                                                    VkQueueFamilyProperties* families) {
  vk::guarded_void([&] {
    Instance& instance = *find_instance(handle);
    instance.next().GetPhysicalDeviceQueueFamilyProperties(handle, count, families);
    for (uint32_t i = 0; families && i < *count; ++i) {
      add_timestamp_bits(instance, instance.physical_device(handle), families[i]);
    }
  });
}

// Every family supports emulated result status queries.
VKAPI_ATTR void VKAPI_CALL hook_queue_families(VkPhysicalDevice handle, uint32_t* count,
                                               VkQueueFamilyProperties2* families) {
  vk::guarded_void([&] {
    Instance& instance = *find_instance(handle);
    instance.next().GetPhysicalDeviceQueueFamilyProperties2(handle, count, families);
    for (uint32_t i = 0; families && i < *count; ++i) {
      add_timestamp_bits(instance, instance.physical_device(handle),
                         families[i].queueFamilyProperties);
      if (!instance.options().emulate_queries.result_status) continue;
      auto* status = vk::find_in_out_chain<VkQueueFamilyQueryResultStatusPropertiesKHR>(
          static_cast<VkBaseOutStructure*>(families[i].pNext),
          VK_STRUCTURE_TYPE_QUEUE_FAMILY_QUERY_RESULT_STATUS_PROPERTIES_KHR);
      if (status) status->queryResultStatusSupport = VK_TRUE;
    }
  });
}

void report_uncounted(Instance& instance, const catalogue::EnabledHidden& enabled) {
  if (enabled.empty()) return;
  instance.messages().notice(
      "TALLY-uncounted-extension", VK_OBJECT_TYPE_INSTANCE, vk::handle_bits(instance.handle()),
      fmt::format("vkCreateDevice(): {}", catalogue::describe_uncounted(enabled)));
}

VkResult create_device(VkPhysicalDevice handle, const VkDeviceCreateInfo& original,
                       const VkAllocationCallbacks* allocator, VkDevice* device) {
  Instance& instance = *find_instance(handle);
  const PhysicalDevice& gpu = instance.physical_device(handle);
  const vk::NextDevice next = vk::take_next_device(original);
  if (!next.get_instance_proc_addr || !next.get_device_proc_addr)
    return VK_ERROR_INITIALIZATION_FAILED;
  const auto create = reinterpret_cast<PFN_vkCreateDevice>(
      next.get_instance_proc_addr(instance.handle(), "vkCreateDevice"));
  if (!create) return VK_ERROR_INITIALIZATION_FAILED;
  Options options = instance.options();
  // Allocation callbacks expect the thread that calls Vulkan.
  if (allocator) options.compile_ahead = CompileAhead::Never;
  const DeviceCreation creation(original, gpu, options);
  if (const VkResult refusal = creation.refusal(); refusal != VK_SUCCESS) return refusal;
  const VkResult result = create(handle, &creation.info(), allocator, device);
  if (result != VK_SUCCESS) return result;
  try {
    report_uncounted(instance, creation.uncounted_extensions());
    add_device(std::make_unique<Device>(*device, instance, gpu, creation, next));
  } catch (...) {
    const auto destroy = reinterpret_cast<PFN_vkDestroyDevice>(
        next.get_device_proc_addr(*device, "vkDestroyDevice"));
    destroy(*device, allocator);
    throw;
  }
  return VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL hook_create_device(VkPhysicalDevice gpu,
                                                  const VkDeviceCreateInfo* info,
                                                  const VkAllocationCallbacks* allocator,
                                                  VkDevice* device) {
  return vk::guarded([&] { return create_device(gpu, *info, allocator, device); });
}

}  // namespace

const vk::HookTable& physical_device_hooks() {
  // Leaked on purpose: applications call Vulkan from static destructors.
  static const auto* const table = new vk::HookTable({
      vk::hook("vkCreateDevice", hook_create_device),
      vk::hook("vkEnumerateDeviceExtensionProperties", hook_enumerate_extensions),
      vk::hook("vkEnumerateDeviceLayerProperties", hook_enumerate_layers),
      vk::hook("vkEnumeratePhysicalDeviceQueueFamilyPerformanceCountersByRegionARM",
               hook_enumerate_region, kExtensionEnabled),
      vk::hook("vkEnumeratePhysicalDeviceQueueFamilyPerformanceQueryCountersKHR",
               hook_enumerate_performance_counters, kExtensionEnabled),
      vk::hook("vkEnumeratePhysicalDeviceShaderInstrumentationMetricsARM", hook_enumerate_metrics,
               kExtensionEnabled),
      vk::hook("vkGetPhysicalDeviceFeatures", hook_get_core_features),
      vk::hook("vkGetPhysicalDeviceFeatures2", hook_get_features),
      vk::hook("vkGetPhysicalDeviceFeatures2KHR", hook_get_features),
      vk::hook("vkGetPhysicalDeviceProperties", hook_get_core_properties),
      vk::hook("vkGetPhysicalDeviceProperties2", hook_get_properties),
      vk::hook("vkGetPhysicalDeviceProperties2KHR", hook_get_properties),
      vk::hook("vkGetPhysicalDeviceQueueFamilyPerformanceQueryPassesKHR",
               hook_get_performance_passes, kExtensionEnabled),
      vk::hook("vkGetPhysicalDeviceQueueFamilyProperties", hook_core_queue_families),
      vk::hook("vkGetPhysicalDeviceQueueFamilyProperties2", hook_queue_families),
      vk::hook("vkGetPhysicalDeviceQueueFamilyProperties2KHR", hook_queue_families),
  });
  return *table;
}

}  // namespace tally::counters
