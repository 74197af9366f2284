// The features and properties of physical devices, and vkCreateDevice.
#include <fmt/format.h>

#include <cstring>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "counters/features/performance/clock.h"
#include "counters/features/regions/state.h"
#include "counters/layer/device_creation.h"
#include "counters/layer/entry_points.h"
#include "counters/layer/offered_extensions.h"
#include "vk/layer.h"
#include "vk/own_call.h"

namespace tally::counters {
namespace {

VkResult enumerate_extensions(VkPhysicalDevice handle, const char* layer, uint32_t* count,
                              VkExtensionProperties* properties) {
  Instance& instance = *find_instance(handle);
  const bool ours = layer && std::strcmp(layer, kLayerName) == 0;
  if (layer && !ours)
    return instance.next().EnumerateDeviceExtensionProperties(handle, layer, count, properties);
  const PhysicalDevice& gpu = instance.inspect(handle);
  std::vector<VkExtensionProperties> all;
  if (!ours) all = gpu.extensions;
  for (const OfferedExtension& row : offered_extensions()) {
    const bool listed = !ours && gpu.has_extension(row.listed.extensionName);
    if (is_offered(row, gpu) && !listed) all.push_back(row.listed);
  }
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

// The structs of the layer in a chain that the driver fills. The driver does not see them during
// the lifetime of this object.
class OurStructs {
 public:
  // `head`: the struct whose pNext starts the chain. `kind`: the feature or the property structs.
  OurStructs(void* head, const PhysicalDevice& gpu, VkStructureType OfferedExtension::*kind) {
    std::vector<VkStructureType> types;
    for (const OfferedExtension& row : offered_extensions()) {
      if (row.*kind == kNoStruct || gpu.*row.native) continue;
      auto* found = vk::find_in_out_chain<VkBaseOutStructure>(
          static_cast<VkBaseOutStructure*>(head)->pNext, row.*kind);
      if (!found) continue;
      found_.emplace_back(&row, found);
      types.push_back(row.*kind);
    }
    unlinked_.emplace(head, types);
  }

  // Calls fill(row, struct) for each.
  template <typename Fill>
  void fill(const Fill& fill) const {
    for (const auto& [row, found] : found_) fill(*row, found);
  }

 private:
  std::vector<std::pair<const OfferedExtension*, VkBaseOutStructure*>> found_;
  std::optional<vk::UnlinkedStructs> unlinked_;
};

// Queries that the layer emulates.
void add_query_features(const OfferedQueries& offered, VkPhysicalDeviceFeatures& features) {
  if (offered.inherited) features.inheritedQueries = VK_TRUE;
  if (offered.statistics) features.pipelineStatisticsQuery = VK_TRUE;
  if (offered.occlusion) features.occlusionQueryPrecise = VK_TRUE;
}

void add_query_features(const OfferedQueries& offered, VkPhysicalDeviceFeatures2& features) {
  add_query_features(offered, features.features);
  auto* mesh = vk::find_in_out_chain<VkPhysicalDeviceMeshShaderFeaturesEXT>(
      static_cast<VkBaseOutStructure*>(features.pNext),
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MESH_SHADER_FEATURES_EXT);
  if (mesh && offered.mesh) mesh->meshShaderQueries = VK_TRUE;
}

OfferedQueries offered_queries(Instance& instance, const PhysicalDevice& gpu) {
  return offered_queries(gpu, instance.options().emulate_queries);
}

VKAPI_ATTR void VKAPI_CALL hook_get_core_features(VkPhysicalDevice handle,
                                                  VkPhysicalDeviceFeatures* features) {
  vk::guarded_void([&] {
    Instance& instance = *find_instance(handle);
    instance.next().GetPhysicalDeviceFeatures(handle, features);
    add_query_features(offered_queries(instance, instance.inspect(handle)), *features);
  });
}

void get_features(VkPhysicalDevice handle, VkPhysicalDeviceFeatures2* features) {
  Instance& instance = *find_instance(handle);
  const PhysicalDevice& gpu = instance.inspect(handle);
  const OurStructs ours(features, gpu, &OfferedExtension::features);
  instance.next().GetPhysicalDeviceFeatures2(handle, features);
  add_query_features(offered_queries(instance, gpu), *features);
  ours.fill([&](const OfferedExtension& row, VkBaseOutStructure* found) {
    const std::span<VkBool32> flags = vk::feature_flags(found, row.feature_count);
    for (uint32_t i = 0; i < flags.size(); ++i) {
      flags[i] = has_feature(row, gpu, i) ? VK_TRUE : VK_FALSE;
    }
  });
}

VKAPI_ATTR void VKAPI_CALL hook_get_features(VkPhysicalDevice gpu,
                                             VkPhysicalDeviceFeatures2* features) {
  vk::guarded_void([&] { get_features(gpu, features); });
}

void fill(VkPhysicalDeviceShaderInstrumentationPropertiesARM& ours, bool offered, size_t metrics) {
  ours.numMetrics = offered ? static_cast<uint32_t>(metrics) : 0;
  ours.perBasicBlockGranularity = offered ? VK_TRUE : VK_FALSE;
}

void fill(VkPhysicalDevicePerformanceQueryPropertiesKHR& ours, bool offered) {
  ours.allowCommandBufferQueryCopies = offered ? VK_TRUE : VK_FALSE;
}

void fill(VkPhysicalDevicePerformanceCountersByRegionPropertiesARM& ours,
          const RegionProperties& properties) {
  ours.maxPerRegionPerformanceCounters = properties.counters;
  ours.performanceCounterRegionSize = properties.extent();
  ours.rowStrideAlignment = properties.row_alignment;
  ours.regionAlignment = properties.region_alignment;
  ours.identityTransformOrder = VK_TRUE;
}

void fill_properties(Instance& instance, const PhysicalDevice& gpu, const OfferedExtension& row,
                     VkBaseOutStructure* found) {
  const bool offered = is_offered(row, gpu);
  switch (static_cast<uint32_t>(row.properties)) {
    case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INSTRUMENTATION_PROPERTIES_ARM:
      return fill(*reinterpret_cast<VkPhysicalDeviceShaderInstrumentationPropertiesARM*>(found),
                  offered, instance.metrics().size());
    case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PERFORMANCE_QUERY_PROPERTIES_KHR:
      return fill(*reinterpret_cast<VkPhysicalDevicePerformanceQueryPropertiesKHR*>(found),
                  offered);
    case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PERFORMANCE_COUNTERS_BY_REGION_PROPERTIES_ARM: {
      RegionProperties regions = region_properties(gpu, instance.options());
      if (!offered) regions.counters = 0;
      return fill(
          *reinterpret_cast<VkPhysicalDevicePerformanceCountersByRegionPropertiesARM*>(found),
          regions);
    }
    default:
      return;
  }
}

// For emulated timestamps, which are in nanoseconds unless the driver has a unit.
void add_timestamp_limits(Instance& instance, const PhysicalDevice& gpu,
                          VkPhysicalDeviceLimits& limits) {
  if (!offered_queries(instance, gpu).timestamps) return;
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
  const uint32_t offered = offered_push_data(gpu);
  if (heaps && offered != 0) heaps->maxPushDataSize = offered;
}

void get_properties(VkPhysicalDevice handle, VkPhysicalDeviceProperties2* properties) {
  Instance& instance = *find_instance(handle);
  const PhysicalDevice& gpu = instance.inspect(handle);
  const OurStructs ours(properties, gpu, &OfferedExtension::properties);
  instance.next().GetPhysicalDeviceProperties2(handle, properties);
  add_timestamp_limits(instance, gpu, properties->properties.limits);
  limit_push_data(gpu, *properties);
  auto* feedback = vk::find_in_out_chain<VkPhysicalDeviceTransformFeedbackPropertiesEXT>(
      static_cast<VkBaseOutStructure*>(properties->pNext),
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TRANSFORM_FEEDBACK_PROPERTIES_EXT);
  if (feedback && offered_queries(instance, gpu).transform_feedback) {
    feedback->transformFeedbackQueries = VK_TRUE;
  }
  ours.fill([&](const OfferedExtension& row, VkBaseOutStructure* found) {
    fill_properties(instance, gpu, row, found);
  });
}

// Queue families that support compute have them.
void add_timestamp_bits(Instance& instance, const PhysicalDevice& gpu,
                        VkQueueFamilyProperties& family) {
  if (!offered_queries(instance, gpu).timestamps) return;
  const bool computes = (family.queueFlags & VK_QUEUE_COMPUTE_BIT) != 0;
  family.timestampValidBits = computes ? timestamp_bits(gpu) : 0;
}

VKAPI_ATTR void VKAPI_CALL hook_get_core_properties(VkPhysicalDevice handle,
                                                    VkPhysicalDeviceProperties* properties) {
  vk::guarded_void([&] {
    Instance& instance = *find_instance(handle);
    instance.next().GetPhysicalDeviceProperties(handle, properties);
    add_timestamp_limits(instance, instance.inspect(handle), properties->limits);
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
  const PhysicalDevice& gpu = instance.inspect(handle);
  if (!gpu.native) {
    static const std::vector<Metric> none;
    const bool offered = is_offered(Extension::Instrumentation, gpu);
    return write_metrics(offered ? instance.metrics() : none, count, descriptions);
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
  if (!instance.inspect(handle).native_regions) {
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
      add_timestamp_bits(instance, instance.inspect(handle), families[i]);
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
      add_timestamp_bits(instance, instance.inspect(handle), families[i].queueFamilyProperties);
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
  const PhysicalDevice& gpu = instance.inspect(handle);
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
  TALLY_TRY(create(handle, &creation.info(), allocator, device));
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

const HookTable& physical_device_hooks() {
  // Leaked on purpose: applications call Vulkan from static destructors.
  static const auto* const table = new HookTable({
      make_hook("vkCreateDevice", hook_create_device),
      make_hook("vkEnumerateDeviceExtensionProperties", hook_enumerate_extensions),
      make_hook("vkEnumerateDeviceLayerProperties", hook_enumerate_layers),
      make_hook("vkEnumeratePhysicalDeviceQueueFamilyPerformanceCountersByRegionARM",
                hook_enumerate_region, HookCondition::Own),
      make_hook("vkEnumeratePhysicalDeviceQueueFamilyPerformanceQueryCountersKHR",
                hook_enumerate_performance_counters, HookCondition::Own),
      make_hook("vkEnumeratePhysicalDeviceShaderInstrumentationMetricsARM", hook_enumerate_metrics,
                HookCondition::Own),
      make_hook("vkGetPhysicalDeviceFeatures", hook_get_core_features),
      make_hook("vkGetPhysicalDeviceFeatures2", hook_get_features),
      make_hook("vkGetPhysicalDeviceFeatures2KHR", hook_get_features),
      make_hook("vkGetPhysicalDeviceProperties", hook_get_core_properties),
      make_hook("vkGetPhysicalDeviceProperties2", hook_get_properties),
      make_hook("vkGetPhysicalDeviceProperties2KHR", hook_get_properties),
      make_hook("vkGetPhysicalDeviceQueueFamilyPerformanceQueryPassesKHR",
                hook_get_performance_passes, HookCondition::Own),
      make_hook("vkGetPhysicalDeviceQueueFamilyProperties", hook_core_queue_families),
      make_hook("vkGetPhysicalDeviceQueueFamilyProperties2", hook_queue_families),
      make_hook("vkGetPhysicalDeviceQueueFamilyProperties2KHR", hook_queue_families),
  });
  return *table;
}

}  // namespace tally::counters
