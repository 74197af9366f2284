#include "counters/base/physical_device.h"

#include <fmt/format.h>
#include <tally/vulkan_arm.h>
#include <tally/vulkan_newest.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <string_view>

namespace tally::counters {
namespace {

std::vector<VkQueueFamilyProperties> list_queue_families(const InstanceTable& next,
                                                         VkPhysicalDevice handle) {
  uint32_t count = 0;
  next.GetPhysicalDeviceQueueFamilyProperties(handle, &count, nullptr);
  std::vector<VkQueueFamilyProperties> families(count);
  next.GetPhysicalDeviceQueueFamilyProperties(handle, &count, families.data());
  families.resize(count);
  return families;
}

// A chain of structs to be filled, of those that the device knows.
template <typename Head>
class Query {
 public:
  explicit Query(VkStructureType type) { head_.sType = type; }
  template <typename T>
  void add(T& value, VkStructureType type, bool known) {
    if (!known) return;
    value.sType = type;
    value.pNext = head_.pNext;
    head_.pNext = &value;
  }
  Head& head() { return head_; }

 private:
  Head head_{};
};

void inspect_features(const InstanceTable& next, PhysicalDevice& gpu) {
  const bool core12 = gpu.api_version >= VK_API_VERSION_1_2;
  VkPhysicalDeviceBufferDeviceAddressFeatures address{};
  VkPhysicalDeviceShaderAtomicInt64Features atomics{};
  VkPhysicalDeviceMultiviewFeatures multiview{};
  Query<VkPhysicalDeviceFeatures2> query(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2);
  query.add(address, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_BUFFER_DEVICE_ADDRESS_FEATURES,
            core12 || gpu.has_extension(VK_KHR_BUFFER_DEVICE_ADDRESS_EXTENSION_NAME));
  query.add(atomics, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_ATOMIC_INT64_FEATURES,
            core12 || gpu.has_extension(VK_KHR_SHADER_ATOMIC_INT64_EXTENSION_NAME));
  VkPhysicalDeviceShaderSubgroupExtendedTypesFeatures wide_subgroups{};
  query.add(wide_subgroups,
            VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_SUBGROUP_EXTENDED_TYPES_FEATURES,
            core12 || gpu.has_extension(VK_KHR_SHADER_SUBGROUP_EXTENDED_TYPES_EXTENSION_NAME));
  VkPhysicalDeviceHostQueryResetFeatures resets{};
  query.add(resets, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_HOST_QUERY_RESET_FEATURES,
            core12 || gpu.has_extension(VK_EXT_HOST_QUERY_RESET_EXTENSION_NAME));
  VkPhysicalDevicePipelineCreationCacheControlFeatures caches{};
  query.add(caches, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PIPELINE_CREATION_CACHE_CONTROL_FEATURES,
            gpu.api_version >= VK_API_VERSION_1_3 ||
                gpu.has_extension(VK_EXT_PIPELINE_CREATION_CACHE_CONTROL_EXTENSION_NAME));
  VkPhysicalDeviceTimelineSemaphoreFeatures timelines{};
  query.add(timelines, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES,
            core12 || gpu.has_extension(VK_KHR_TIMELINE_SEMAPHORE_EXTENSION_NAME));
  VkPhysicalDeviceMeshShaderFeaturesEXT mesh{};
  query.add(mesh, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MESH_SHADER_FEATURES_EXT,
            gpu.has_extension(VK_EXT_MESH_SHADER_EXTENSION_NAME));
  VkPhysicalDevicePrimitivesGeneratedQueryFeaturesEXT primitives{};
  query.add(primitives, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PRIMITIVES_GENERATED_QUERY_FEATURES_EXT,
            gpu.has_extension(VK_EXT_PRIMITIVES_GENERATED_QUERY_EXTENSION_NAME));
  VkPhysicalDeviceShaderClockFeaturesKHR clock{};
  query.add(clock, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_CLOCK_FEATURES_KHR,
            gpu.has_extension(VK_KHR_SHADER_CLOCK_EXTENSION_NAME));
  VkPhysicalDeviceShaderMaximalReconvergenceFeaturesKHR reconvergence{};
  query.add(reconvergence,
            VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_MAXIMAL_RECONVERGENCE_FEATURES_KHR,
            gpu.has_extension(VK_KHR_SHADER_MAXIMAL_RECONVERGENCE_EXTENSION_NAME));
  VkPhysicalDeviceShaderSMBuiltinsFeaturesNV sm_builtins{};
  query.add(sm_builtins, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_SM_BUILTINS_FEATURES_NV,
            gpu.has_extension(VK_NV_SHADER_SM_BUILTINS_EXTENSION_NAME));
  VkPhysicalDeviceConditionalRenderingFeaturesEXT conditions{};
  query.add(conditions, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_CONDITIONAL_RENDERING_FEATURES_EXT,
            gpu.has_extension(VK_EXT_CONDITIONAL_RENDERING_EXTENSION_NAME));
  VkPhysicalDeviceTransformFeedbackFeaturesEXT feedback{};
  query.add(feedback, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TRANSFORM_FEEDBACK_FEATURES_EXT,
            gpu.has_extension(VK_EXT_TRANSFORM_FEEDBACK_EXTENSION_NAME));
  VkPhysicalDevicePerformanceQueryFeaturesKHR performance{};
  query.add(performance, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PERFORMANCE_QUERY_FEATURES_KHR,
            gpu.has_extension(VK_KHR_PERFORMANCE_QUERY_EXTENSION_NAME));
  VkPhysicalDeviceShaderInstrumentationFeaturesARM instrumentation{};
  query.add(instrumentation, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INSTRUMENTATION_FEATURES_ARM,
            gpu.native);
  VkPhysicalDevicePerformanceCountersByRegionFeaturesARM regions{};
  query.add(regions, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PERFORMANCE_COUNTERS_BY_REGION_FEATURES_ARM,
            gpu.native_regions);
  VkPhysicalDeviceElapsedTimerQueryFeaturesQCOM timer{};
  query.add(timer, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ELAPSED_TIMER_QUERY_FEATURES_QCOM,
            gpu.has_extension(VK_QCOM_ELAPSED_TIMER_QUERY_EXTENSION_NAME));
  query.add(multiview, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MULTIVIEW_FEATURES, true);
  next.GetPhysicalDeviceFeatures2(gpu.handle, &query.head());
  const VkPhysicalDeviceFeatures& core = query.head().features;
  // A driver may list an extension whose feature a device lacks.
  gpu.native = instrumentation.shaderInstrumentation == VK_TRUE;
  gpu.native_regions = regions.performanceCountersByRegion == VK_TRUE;
  gpu.native_elapsed_timer = timer.elapsedTimerQuery == VK_TRUE;
  gpu.buffer_device_address = address.bufferDeviceAddress == VK_TRUE;
  gpu.vertex_stores = core.vertexPipelineStoresAndAtomics == VK_TRUE;
  gpu.fragment_stores = core.fragmentStoresAndAtomics == VK_TRUE;
  gpu.geometry_shader = core.geometryShader == VK_TRUE;
  gpu.tessellation_shader = core.tessellationShader == VK_TRUE;
  gpu.statistics_query = core.pipelineStatisticsQuery == VK_TRUE;
  gpu.precise_occlusion = core.occlusionQueryPrecise == VK_TRUE;
  gpu.host_query_reset = resets.hostQueryReset == VK_TRUE;
  gpu.cache_control = caches.pipelineCreationCacheControl == VK_TRUE;
  gpu.timeline_semaphores = timelines.timelineSemaphore == VK_TRUE;
  gpu.inherited_queries = core.inheritedQueries == VK_TRUE;
  gpu.native_performance_queries = performance.performanceCounterQueryPools == VK_TRUE;
  gpu.mesh_shader = mesh.meshShader == VK_TRUE;
  gpu.mesh_queries = mesh.meshShaderQueries == VK_TRUE;
  gpu.primitives_generated_query = primitives.primitivesGeneratedQuery == VK_TRUE;
  gpu.device_clock = clock.shaderDeviceClock == VK_TRUE;
  gpu.conditional_rendering = conditions.conditionalRendering == VK_TRUE;
  gpu.sm_builtins = sm_builtins.shaderSMBuiltins == VK_TRUE;
  gpu.subgroup_clock = clock.shaderSubgroupClock == VK_TRUE;
  gpu.maximal_reconvergence = reconvergence.shaderMaximalReconvergence == VK_TRUE;
  gpu.transform_feedback = feedback.transformFeedback == VK_TRUE;
  gpu.multiview = multiview.multiview == VK_TRUE;
  gpu.int64 = core.shaderInt64 == VK_TRUE;
  gpu.wide_subgroups = wide_subgroups.shaderSubgroupExtendedTypes == VK_TRUE;
  gpu.int64_atomics = gpu.int64 && atomics.shaderBufferInt64Atomics == VK_TRUE;
}

// From "Mesa 25.0.7 (LLVM 15.0.6)": lavapipe's driverVersion is always 1.
uint32_t mesa_version(std::string_view driver_info) {
  constexpr std::string_view kMesa = "Mesa ";
  if (!driver_info.starts_with(kMesa)) return 0;
  const char* const end = driver_info.data() + driver_info.size();
  uint32_t major = 0, minor = 0;
  const auto [rest, error] = std::from_chars(driver_info.data() + kMesa.size(), end, major);
  if (error == std::errc() && rest != end && *rest == '.') std::from_chars(rest + 1, end, minor);
  return VK_MAKE_API_VERSION(0, major, minor, 0);
}

void inspect_subgroups(const InstanceTable& next, PhysicalDevice& gpu) {
  VkPhysicalDeviceSubgroupProperties subgroup{};
  Query<VkPhysicalDeviceProperties2> query(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2);
  VkPhysicalDeviceDriverProperties driver{};
  query.add(driver, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES,
            gpu.api_version >= VK_API_VERSION_1_2 ||
                gpu.has_extension(VK_KHR_DRIVER_PROPERTIES_EXTENSION_NAME));
  VkPhysicalDeviceTransformFeedbackPropertiesEXT feedback{};
  query.add(feedback, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TRANSFORM_FEEDBACK_PROPERTIES_EXT,
            gpu.has_extension(VK_EXT_TRANSFORM_FEEDBACK_EXTENSION_NAME));
  VkPhysicalDeviceDescriptorHeapPropertiesEXT heaps{};
  query.add(heaps, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DESCRIPTOR_HEAP_PROPERTIES_EXT,
            gpu.has_extension(VK_EXT_DESCRIPTOR_HEAP_EXTENSION_NAME));
  query.add(subgroup, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES, true);
  next.GetPhysicalDeviceProperties2(gpu.handle, &query.head());
  gpu.transform_feedback_queries = feedback.transformFeedbackQueries == VK_TRUE;
  constexpr VkDeviceSize kMaxPushData = 512;  // PushReads knows no more
  gpu.max_push_data = static_cast<uint32_t>(std::min(heaps.maxPushDataSize, kMaxPushData) / 8 * 8);
  gpu.driver_id = driver.driverID;
  gpu.mesa_version = mesa_version(driver.driverInfo);
  gpu.subgroup_size = std::max(1u, subgroup.subgroupSize);
  constexpr VkSubgroupFeatureFlags kNeeded =
      VK_SUBGROUP_FEATURE_BASIC_BIT | VK_SUBGROUP_FEATURE_VOTE_BIT |
      VK_SUBGROUP_FEATURE_BALLOT_BIT | VK_SUBGROUP_FEATURE_ARITHMETIC_BIT;
  if ((subgroup.supportedOperations & kNeeded) == kNeeded)
    gpu.subgroup_stages = subgroup.supportedStages;
}

void count_driver_counters(const InstanceTable& next, PhysicalDevice& gpu) {
  const auto enumerate = next.EnumeratePhysicalDeviceQueueFamilyPerformanceQueryCountersKHR;
  if (!enumerate || !next.GetPhysicalDeviceQueueFamilyPerformanceQueryPassesKHR) {
    gpu.native_performance_queries = false;
  }
  if (!gpu.native_performance_queries) return;
  for (uint32_t family = 0; family < gpu.queue_families.size(); ++family) {
    uint32_t& count = gpu.driver_counters.emplace_back();
    if (enumerate(gpu.handle, family, &count, nullptr, nullptr) != VK_SUCCESS) count = 0;
  }
}

void list_missing(PhysicalDevice& gpu) {
  if (gpu.api_version < VK_API_VERSION_1_1) gpu.missing.push_back("Vulkan 1.1");
  if (!gpu.buffer_device_address) gpu.missing.push_back("bufferDeviceAddress");
  if (!gpu.timeline_semaphores) gpu.missing.push_back("timelineSemaphore");
  if (!gpu.vertex_stores) gpu.missing.push_back("vertexPipelineStoresAndAtomics");
  if (!gpu.fragment_stores) gpu.missing.push_back("fragmentStoresAndAtomics");
}

}  // namespace

bool PhysicalDevice::has_extension(const char* name) const {
  return std::ranges::any_of(extensions, [&](const auto& extension) {
    return std::strcmp(extension.extensionName, name) == 0;
  });
}

PhysicalDevice inspect_physical_device(const InstanceTable& next, VkPhysicalDevice handle,
                                       uint32_t instance_version, bool force_emulation) {
  PhysicalDevice gpu;
  gpu.handle = handle;
  next.GetPhysicalDeviceProperties(handle, &gpu.properties);
  next.GetPhysicalDeviceMemoryProperties(handle, &gpu.memory);
  gpu.queue_families = list_queue_families(next, handle);
  gpu.extensions = vk::list_extensions(next.EnumerateDeviceExtensionProperties, handle);
  gpu.api_version = std::min(gpu.properties.apiVersion, instance_version);
  gpu.native = !force_emulation && gpu.has_extension(VK_ARM_SHADER_INSTRUMENTATION_EXTENSION_NAME);
  gpu.native_regions =
      !force_emulation && gpu.has_extension(VK_ARM_PERFORMANCE_COUNTERS_BY_REGION_EXTENSION_NAME);
  gpu.native_intel_queries =
      !force_emulation && gpu.has_extension(VK_INTEL_PERFORMANCE_QUERY_EXTENSION_NAME);
  if (gpu.api_version >= VK_API_VERSION_1_1 && next.GetPhysicalDeviceFeatures2 &&
      next.GetPhysicalDeviceProperties2) {
    inspect_features(next, gpu);
    inspect_subgroups(next, gpu);
  }
  if (force_emulation) gpu.native_performance_queries = false;
  count_driver_counters(next, gpu);
  list_missing(gpu);
  return gpu;
}

void DeviceContext::report(const vk::OwnFailure& failure, const char* what_it_does) const {
  if (!failure.what) return;
  messages.notice("TALLY-own-call-failed", VK_OBJECT_TYPE_DEVICE, handle_bits(),
                  fmt::format("{}: {}", what_it_does, failure.text()));
}

}  // namespace tally::counters
