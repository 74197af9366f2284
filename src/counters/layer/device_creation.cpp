#include "counters/layer/device_creation.h"

#include <algorithm>
#include <cstring>

#include <tally/vulkan_arm.h>

#include "counters/layer/offered_features.h"
#include "counters/memory/memory_type.h"

namespace tally::counters {

DeviceCreation::DeviceCreation(const VkDeviceCreateInfo& info, const PhysicalDevice& gpu,
                               const Options& options)
    : gpu_(gpu),
      options_(options),
      hidden_(vk::find_hidden_extension(info)),
      info_(info),
      chain_(info.pNext) {
  extensions_.assign(info.ppEnabledExtensionNames,
                     info.ppEnabledExtensionNames + info.enabledExtensionCount);
  queues_.assign(info.pQueueCreateInfos, info.pQueueCreateInfos + info.queueCreateInfoCount);
  if (!gpu.native) take_ours();
  if (!gpu.native_regions) take_regions();
  if (gpu.missing.empty()) take_queries();
  if (anything_enabled() && gpu.missing.empty()) enable_needs();
  info_.pNext = chain_.head();
  info_.enabledExtensionCount = static_cast<uint32_t>(extensions_.size());
  info_.ppEnabledExtensionNames = extensions_.data();
  info_.queueCreateInfoCount = static_cast<uint32_t>(queues_.size());
  info_.pQueueCreateInfos = queues_.data();
}

bool DeviceCreation::take_extension(const char* name) {
  return std::erase_if(extensions_,
                       [&](const char* enabled) { return std::strcmp(enabled, name) == 0; }) != 0;
}

// For a struct that is removed from the chain.
template <typename Features, typename... Members>
void DeviceCreation::refuse_unsupported(const Features* wanted, const Features& offered,
                                        Members... members) {
  if (!wanted) return;
  unsupported_ |= ((wanted->*members == VK_TRUE && offered.*members != VK_TRUE) || ...);
}

void DeviceCreation::take_ours() {
  extension_enabled_ = take_extension(VK_ARM_SHADER_INSTRUMENTATION_EXTENSION_NAME);
  const auto* features = chain_.find<VkPhysicalDeviceShaderInstrumentationFeaturesARM>(
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INSTRUMENTATION_FEATURES_ARM);
  feature_enabled_ = extension_enabled_ && features && features->shaderInstrumentation == VK_TRUE;
  using Features = VkPhysicalDeviceShaderInstrumentationFeaturesARM;
  refuse_unsupported(features, features_of<Features>(gpu_), &Features::shaderInstrumentation);
  chain_.remove(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INSTRUMENTATION_FEATURES_ARM);
}

void DeviceCreation::take_regions() {
  regions_extension_enabled_ = take_extension(VK_ARM_PERFORMANCE_COUNTERS_BY_REGION_EXTENSION_NAME);
  constexpr VkStructureType kType =
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PERFORMANCE_COUNTERS_BY_REGION_FEATURES_ARM;
  const auto* features = chain_.find<VkPhysicalDevicePerformanceCountersByRegionFeaturesARM>(kType);
  regions_feature_enabled_ =
      regions_extension_enabled_ && features && features->performanceCountersByRegion == VK_TRUE;
  using Features = VkPhysicalDevicePerformanceCountersByRegionFeaturesARM;
  refuse_unsupported(features, features_of<Features>(gpu_), &Features::performanceCountersByRegion);
  chain_.remove(kType);
}

// Removes query features that the driver lacks and the layer emulates.
void DeviceCreation::take_queries() {
  auto* chained =
      chain_.find<VkPhysicalDeviceFeatures2>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2);
  if (chained) {
    take_core_queries(chained->features);
  } else if (info_.pEnabledFeatures) {
    core_features_ = *info_.pEnabledFeatures;
    info_.pEnabledFeatures = &core_features_;
    take_core_queries(core_features_);
  }
  const Options::ForcedQueries& forced = options_.emulate_queries;
  constexpr VkStructureType kPrimitives =
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PRIMITIVES_GENERATED_QUERY_FEATURES_EXT;
  const auto* primitives =
      chain_.find<VkPhysicalDevicePrimitivesGeneratedQueryFeaturesEXT>(kPrimitives);
  emulated_queries_.primitives_generated =
      (gpu_.offers_primitives_generated() || forced.primitives_generated) && primitives &&
      primitives->primitivesGeneratedQuery == VK_TRUE;
  if (gpu_.offers_primitives_generated()) {
    using Features = VkPhysicalDevicePrimitivesGeneratedQueryFeaturesEXT;
    refuse_unsupported(primitives, features_of<Features>(gpu_), &Features::primitivesGeneratedQuery,
                       &Features::primitivesGeneratedQueryWithRasterizerDiscard,
                       &Features::primitivesGeneratedQueryWithNonZeroStreams);
    chain_.remove(kPrimitives);
    take_extension(VK_EXT_PRIMITIVES_GENERATED_QUERY_EXTENSION_NAME);
  }
  auto* mesh = chain_.find<VkPhysicalDeviceMeshShaderFeaturesEXT>(
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MESH_SHADER_FEATURES_EXT);
  if (mesh && mesh->meshShaderQueries == VK_TRUE) {
    emulated_queries_.mesh_statistics = gpu_.offers_mesh_queries() || forced.mesh;
    if (gpu_.offers_mesh_queries()) mesh->meshShaderQueries = VK_FALSE;
  }
  const auto* feedback = chain_.find<VkPhysicalDeviceTransformFeedbackFeaturesEXT>(
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TRANSFORM_FEEDBACK_FEATURES_EXT);
  emulated_queries_.transform_feedback =
      (gpu_.offers_transform_feedback_queries() || forced.transform_feedback) && feedback &&
      feedback->transformFeedback == VK_TRUE;
  take_elapsed_timer();
  emulated_queries_.result_status = forced.result_status;
  emulated_queries_.timestamps = gpu_.emulates_timestamps(forced);
  take_performance_queries();
}

void DeviceCreation::take_elapsed_timer() {
  if (gpu_.has_extension(VK_QCOM_ELAPSED_TIMER_QUERY_EXTENSION_NAME)) return;
  using Features = VkPhysicalDeviceElapsedTimerQueryFeaturesQCOM;
  constexpr VkStructureType kType =
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ELAPSED_TIMER_QUERY_FEATURES_QCOM;
  const auto* features = chain_.find<Features>(kType);
  const Features offered = features_of<Features>(gpu_);
  refuse_unsupported(features, offered, &Features::elapsedTimerQuery);
  emulated_queries_.elapsed_time =
      features && features->elapsedTimerQuery == VK_TRUE && offered.elapsedTimerQuery == VK_TRUE;
  chain_.remove(kType);
  if (gpu_.offers_elapsed_timer()) take_extension(VK_QCOM_ELAPSED_TIMER_QUERY_EXTENSION_NAME);
}

void DeviceCreation::take_performance_queries() {
  if (gpu_.offers_intel_queries()) {
    emulated_queries_.performance_intel = take_extension(VK_INTEL_PERFORMANCE_QUERY_EXTENSION_NAME);
  }
  if (!gpu_.offers_performance_queries()) return;
  constexpr VkStructureType kType =
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PERFORMANCE_QUERY_FEATURES_KHR;
  const auto* features = chain_.find<VkPhysicalDevicePerformanceQueryFeaturesKHR>(kType);
  performance_query_extension_enabled_ = has_extension(VK_KHR_PERFORMANCE_QUERY_EXTENSION_NAME);
  emulated_queries_.performance = performance_query_extension_enabled_ && features &&
                                  features->performanceCounterQueryPools == VK_TRUE;
  if (gpu_.native_performance_queries) return;  // also needed for the driver's counters
  take_extension(VK_KHR_PERFORMANCE_QUERY_EXTENSION_NAME);
  chain_.remove(kType);
}

void DeviceCreation::take_core_queries(VkPhysicalDeviceFeatures& features) {
  const Options::ForcedQueries& forced = options_.emulate_queries;
  if (gpu_.offers_inherited_queries(forced) && !gpu_.inherited_queries) {
    features.inheritedQueries = VK_FALSE;
  }
  if (features.pipelineStatisticsQuery == VK_TRUE) {
    emulated_queries_.statistics = gpu_.offers_statistics() || forced.statistics;
    if (gpu_.offers_statistics()) features.pipelineStatisticsQuery = VK_FALSE;
  }
  if (features.occlusionQueryPrecise == VK_TRUE) {
    emulated_queries_.occlusion = gpu_.offers_occlusion() || forced.occlusion;
    if (gpu_.offers_occlusion()) features.occlusionQueryPrecise = VK_FALSE;
  }
}

// Counters that other applications ask for without knowing of them, such as emulated statistics,
// are not among these.
bool DeviceCreation::asks_for_counters() const {
  return feature_enabled_ || regions_feature_enabled_ || emulated_queries_.performance_intel ||
         (emulated_queries_.performance && !gpu_.native_performance_queries);
}

VkResult DeviceCreation::refusal() const {
  if (hidden_ && asks_for_counters()) return VK_ERROR_EXTENSION_NOT_PRESENT;
  if (unsupported_) return VK_ERROR_FEATURE_NOT_PRESENT;
  if (gpu_.missing.empty()) return VK_SUCCESS;
  return extension_enabled_ || regions_extension_enabled_ ? VK_ERROR_EXTENSION_NOT_PRESENT
                                                          : VK_SUCCESS;
}

bool DeviceCreation::has_extension(const char* name) const {
  return std::ranges::any_of(extensions_,
                             [&](const char* enabled) { return std::strcmp(enabled, name) == 0; });
}

void DeviceCreation::add_extension(const char* name) {
  if (!has_extension(name)) extensions_.push_back(name);
}

template <typename Features, VkBool32 Features::*kMember>
bool DeviceCreation::set_if_chained(VkStructureType type) {
  auto* features = chain_.find<Features>(type);
  if (features) features->*kMember = VK_TRUE;
  return features != nullptr;
}

template <typename Features, VkBool32 Features::*kMember>
void DeviceCreation::set(VkStructureType type) {
  if (set_if_chained<Features, kMember>(type)) return;
  Features features{};
  features.sType = type;
  features.*kMember = VK_TRUE;
  chain_.add(features);
}

void DeviceCreation::enable_needs() {
  enable_core_features();
  enable_buffer_device_address();
  if (gpu_.int64_atomics) enable_int64_atomics();
  if (regions_feature_enabled_ && gpu_.multiview) enable_multiview();
  if (regions_feature_enabled_ && gpu_.counts_subgroup_clock()) enable_subgroup_clock();
  if (emulated_queries_.timestamps) enable_device_clock();
  if (conditional_rendering()) enable_conditional_rendering();
  if (driver_counts_samples()) enable_host_query_reset();
  const auto* libraries = chain_.find<VkPhysicalDeviceGraphicsPipelineLibraryFeaturesEXT>(
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_GRAPHICS_PIPELINE_LIBRARY_FEATURES_EXT);
  pipeline_libraries_ = libraries && libraries->graphicsPipelineLibrary == VK_TRUE;
  const auto* shader_objects = chain_.find<VkPhysicalDeviceShaderObjectFeaturesEXT>(
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_OBJECT_FEATURES_EXT);
  shader_objects_ = shader_objects && shader_objects->shaderObject == VK_TRUE;
  const auto* heaps = chain_.find<VkPhysicalDeviceDescriptorHeapFeaturesEXT>(
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DESCRIPTOR_HEAP_FEATURES_EXT);
  descriptor_heaps_ = heaps && heaps->descriptorHeap == VK_TRUE;
  record_memory_ = resolve_record_memory(options_.record_memory, gpu_.memory);
  if (record_memory_ == RecordMemory::Device) add_transfer_queue();
}

// Core features are in pEnabledFeatures or in VkPhysicalDeviceFeatures2, never in both.
void DeviceCreation::enable_core_features() {
  auto* chained =
      chain_.find<VkPhysicalDeviceFeatures2>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2);
  if (!chained) {
    if (info_.pEnabledFeatures && info_.pEnabledFeatures != &core_features_) {
      core_features_ = *info_.pEnabledFeatures;
    }
    info_.pEnabledFeatures = &core_features_;
  }
  VkPhysicalDeviceFeatures& features = chained ? chained->features : core_features_;
  features.vertexPipelineStoresAndAtomics = VK_TRUE;
  features.fragmentStoresAndAtomics = VK_TRUE;
  if (gpu_.int64) features.shaderInt64 = VK_TRUE;
  // Allows fragment shaders to read the layer.
  if (regions_feature_enabled_ && gpu_.geometry_shader) features.geometryShader = VK_TRUE;
}

void DeviceCreation::enable_multiview() {
  using Core = VkPhysicalDeviceVulkan11Features;
  using Own = VkPhysicalDeviceMultiviewFeatures;
  if (!set_if_chained<Core, &Core::multiview>(
          VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES)) {
    set<Own, &Own::multiview>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MULTIVIEW_FEATURES);
  }
}

void DeviceCreation::enable_device_clock() {
  using Own = VkPhysicalDeviceShaderClockFeaturesKHR;
  add_extension(VK_KHR_SHADER_CLOCK_EXTENSION_NAME);
  set<Own, &Own::shaderDeviceClock>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_CLOCK_FEATURES_KHR);
}

void DeviceCreation::enable_conditional_rendering() {
  using Own = VkPhysicalDeviceConditionalRenderingFeaturesEXT;
  add_extension(VK_EXT_CONDITIONAL_RENDERING_EXTENSION_NAME);
  set<Own, &Own::conditionalRendering>(
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_CONDITIONAL_RENDERING_FEATURES_EXT);
}

void DeviceCreation::enable_host_query_reset() {
  using Core = VkPhysicalDeviceVulkan12Features;
  using Own = VkPhysicalDeviceHostQueryResetFeatures;
  if (set_if_chained<Core, &Core::hostQueryReset>(
          VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES)) {
    return;
  }
  if (gpu_.api_version < VK_API_VERSION_1_2) add_extension(VK_EXT_HOST_QUERY_RESET_EXTENSION_NAME);
  set<Own, &Own::hostQueryReset>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_HOST_QUERY_RESET_FEATURES);
}

void DeviceCreation::enable_subgroup_clock() {
  using Own = VkPhysicalDeviceShaderClockFeaturesKHR;
  add_extension(VK_KHR_SHADER_CLOCK_EXTENSION_NAME);
  set<Own, &Own::shaderSubgroupClock>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_CLOCK_FEATURES_KHR);
}

void DeviceCreation::enable_buffer_device_address() {
  using Core = VkPhysicalDeviceVulkan12Features;
  using Own = VkPhysicalDeviceBufferDeviceAddressFeatures;
  using Old = VkPhysicalDeviceBufferDeviceAddressFeaturesEXT;
  if (set_if_chained<Core, &Core::bufferDeviceAddress>(
          VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES))
    return;
  // The EXT extension and its successor exclude each other.
  if (has_extension(VK_EXT_BUFFER_DEVICE_ADDRESS_EXTENSION_NAME)) {
    set<Old, &Old::bufferDeviceAddress>(
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_BUFFER_DEVICE_ADDRESS_FEATURES_EXT);
    return;
  }
  if (gpu_.api_version < VK_API_VERSION_1_2)
    add_extension(VK_KHR_BUFFER_DEVICE_ADDRESS_EXTENSION_NAME);
  set<Own, &Own::bufferDeviceAddress>(
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_BUFFER_DEVICE_ADDRESS_FEATURES);
}

void DeviceCreation::enable_int64_atomics() {
  using Core = VkPhysicalDeviceVulkan12Features;
  using Own = VkPhysicalDeviceShaderAtomicInt64Features;
  if (set_if_chained<Core, &Core::shaderBufferInt64Atomics>(
          VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES)) {
    return;
  }
  if (gpu_.api_version < VK_API_VERSION_1_2)
    add_extension(VK_KHR_SHADER_ATOMIC_INT64_EXTENSION_NAME);
  set<Own, &Own::shaderBufferInt64Atomics>(
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_ATOMIC_INT64_FEATURES);
}

std::vector<uint32_t> DeviceCreation::queue_families() const {
  std::vector<uint32_t> families;
  for (const VkDeviceQueueCreateInfo& queue : queues_) {
    if (std::ranges::find(families, queue.queueFamilyIndex) == families.end()) {
      families.push_back(queue.queueFamilyIndex);
    }
  }
  return families;
}

std::optional<uint32_t> DeviceCreation::compute_family() const {
  for (const VkDeviceQueueCreateInfo& queue : queues_) {
    const VkQueueFamilyProperties& family = gpu_.queue_families.at(queue.queueFamilyIndex);
    const bool computes = (family.queueFlags & VK_QUEUE_COMPUTE_BIT) != 0;
    if (computes && queue.flags == 0) return queue.queueFamilyIndex;
  }
  return std::nullopt;
}

// Adds a queue to a family that has one left. Otherwise shares the application's first queue that
// supports the work.
void DeviceCreation::add_transfer_queue() {
  constexpr VkQueueFlags kCapable = VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT;
  bool shared = false;
  for (VkDeviceQueueCreateInfo& queue : queues_) {
    const VkQueueFamilyProperties& family = gpu_.queue_families.at(queue.queueFamilyIndex);
    if (queue.flags != 0 || (family.queueFlags & kCapable) == 0) continue;
    if (!shared) transfer_queue_ = {queue.queueFamilyIndex, 0};
    shared = true;
    if (queue.queueCount >= family.queueCount) continue;
    priorities_.assign(queue.pQueuePriorities, queue.pQueuePriorities + queue.queueCount);
    priorities_.push_back(0.5f);
    transfer_queue_ = {queue.queueFamilyIndex, queue.queueCount};
    queue.queueCount += 1;
    queue.pQueuePriorities = priorities_.data();
    return;
  }
}

}  // namespace tally::counters
