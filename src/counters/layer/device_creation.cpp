#include "counters/layer/device_creation.h"

#include <algorithm>
#include <cstring>
#include <thread>

#include "counters/memory/chunk.h"

namespace tally::counters {

CreateInfoCopy::CreateInfoCopy(const VkDeviceCreateInfo& info)
    : info_(info),
      chain_(info.pNext),
      extensions_(info.ppEnabledExtensionNames,
                  info.ppEnabledExtensionNames + info.enabledExtensionCount),
      queues_(info.pQueueCreateInfos, info.pQueueCreateInfos + info.queueCreateInfoCount) {
  if (!info.pEnabledFeatures) return;
  core_features_ = *info.pEnabledFeatures;
  info_.pEnabledFeatures = &core_features_;
}

const VkDeviceCreateInfo& CreateInfoCopy::info() {
  info_.pNext = chain_.head();
  info_.enabledExtensionCount = static_cast<uint32_t>(extensions_.size());
  info_.ppEnabledExtensionNames = extensions_.data();
  info_.queueCreateInfoCount = static_cast<uint32_t>(queues_.size());
  info_.pQueueCreateInfos = queues_.data();
  return info_;
}

bool CreateInfoCopy::has_extension(const char* name) const {
  return std::ranges::any_of(extensions_,
                             [&](const char* enabled) { return std::strcmp(enabled, name) == 0; });
}

void CreateInfoCopy::add_extension(const char* name) {
  if (!has_extension(name)) extensions_.push_back(name);
}

bool CreateInfoCopy::remove_extension(const char* name) {
  return std::erase_if(extensions_,
                       [&](const char* enabled) { return std::strcmp(enabled, name) == 0; }) != 0;
}

VkPhysicalDeviceFeatures* CreateInfoCopy::find_core_features() {
  auto* chained = find<VkPhysicalDeviceFeatures2>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2);
  if (chained) return &chained->features;
  return info_.pEnabledFeatures ? &core_features_ : nullptr;
}

VkPhysicalDeviceFeatures& CreateInfoCopy::core_features() {
  if (VkPhysicalDeviceFeatures* features = find_core_features()) return *features;
  info_.pEnabledFeatures = &core_features_;
  return core_features_;
}

void CreateInfoCopy::add_queue(size_t index, float priority) {
  VkDeviceQueueCreateInfo& queue = queues_[index];
  priorities_.assign(queue.pQueuePriorities, queue.pQueuePriorities + queue.queueCount);
  priorities_.push_back(priority);
  queue.queueCount += 1;
  queue.pQueuePriorities = priorities_.data();
}

// Enables what the layer itself needs of a device: features of the driver that instrumented shaders
// and the layer's own commands use.

struct FeatureNeeds {
  const PhysicalDevice& gpu;
  bool regions = false;                // counters by region
  bool timestamps = false;             // emulated timestamps
  bool conditional_rendering = false;  // the layer records conditional rendering
  bool host_query_reset = false;       // the layer resets queries of the driver
  bool sm_builtins = false;            // vertex shaders read their multiprocessor
  bool cache_control = false;          // the layer asks whether pipelines are in a cache
};

void enable_needed_features(CreateInfoCopy& info, const FeatureNeeds& needs);

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

namespace {

// Protected queues are not: they cannot write to memory that the layer reads.
bool is_ordinary(const VkDeviceQueueCreateInfo& queue) {
  constexpr VkDeviceQueueCreateFlags kOrdinary =
      VK_DEVICE_QUEUE_CREATE_INTERNALLY_SYNCHRONIZED_BIT_KHR;
  return (queue.flags & ~kOrdinary) == 0;
}

}  // namespace

DeviceCreation::DeviceCreation(const VkDeviceCreateInfo& info, const PhysicalDevice& gpu,
                               const Options& options)
    : gpu_(gpu), options_(options), copy_(info) {
  if (!gpu.native) take_ours();
  if (!gpu.native_regions) take_regions();
  if (gpu.missing.empty()) take_queries();
  if (anything_enabled()) uncounted_ = vk::enabled_hidden_extensions(info);
  if (anything_enabled() && gpu.missing.empty()) enable_needs();
  info_ = copy_.info();
}

// For a struct that is removed from the chain.
template <typename Features, typename... Members>
void DeviceCreation::refuse_unsupported(const Features* wanted, const Features& offered,
                                        Members... members) {
  if (!wanted) return;
  unsupported_ |= ((wanted->*members == VK_TRUE && offered.*members != VK_TRUE) || ...);
}

void DeviceCreation::take_ours() {
  extension_enabled_ = copy_.remove_extension(VK_ARM_SHADER_INSTRUMENTATION_EXTENSION_NAME);
  const auto* features = copy_.find<VkPhysicalDeviceShaderInstrumentationFeaturesARM>(
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INSTRUMENTATION_FEATURES_ARM);
  feature_enabled_ = extension_enabled_ && features && features->shaderInstrumentation == VK_TRUE;
  using Features = VkPhysicalDeviceShaderInstrumentationFeaturesARM;
  refuse_unsupported(features, features_of<Features>(gpu_), &Features::shaderInstrumentation);
  copy_.remove(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INSTRUMENTATION_FEATURES_ARM);
}

void DeviceCreation::take_regions() {
  regions_extension_enabled_ =
      copy_.remove_extension(VK_ARM_PERFORMANCE_COUNTERS_BY_REGION_EXTENSION_NAME);
  constexpr VkStructureType kType =
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PERFORMANCE_COUNTERS_BY_REGION_FEATURES_ARM;
  const auto* features = copy_.find<VkPhysicalDevicePerformanceCountersByRegionFeaturesARM>(kType);
  regions_feature_enabled_ =
      regions_extension_enabled_ && features && features->performanceCountersByRegion == VK_TRUE;
  using Features = VkPhysicalDevicePerformanceCountersByRegionFeaturesARM;
  refuse_unsupported(features, features_of<Features>(gpu_), &Features::performanceCountersByRegion);
  copy_.remove(kType);
}

// Removes query features that the driver lacks and the layer emulates.
void DeviceCreation::take_queries() {
  if (VkPhysicalDeviceFeatures* core = copy_.find_core_features()) take_core_queries(*core);
  const Options::ForcedQueries& forced = options_.emulate_queries;
  constexpr VkStructureType kPrimitives =
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PRIMITIVES_GENERATED_QUERY_FEATURES_EXT;
  const auto* primitives =
      copy_.find<VkPhysicalDevicePrimitivesGeneratedQueryFeaturesEXT>(kPrimitives);
  emulated_queries_.primitives_generated =
      (gpu_.offers_primitives_generated() || forced.primitives_generated) && primitives &&
      primitives->primitivesGeneratedQuery == VK_TRUE;
  if (gpu_.offers_primitives_generated()) {
    using Features = VkPhysicalDevicePrimitivesGeneratedQueryFeaturesEXT;
    refuse_unsupported(primitives, features_of<Features>(gpu_), &Features::primitivesGeneratedQuery,
                       &Features::primitivesGeneratedQueryWithRasterizerDiscard,
                       &Features::primitivesGeneratedQueryWithNonZeroStreams);
    copy_.remove(kPrimitives);
    copy_.remove_extension(VK_EXT_PRIMITIVES_GENERATED_QUERY_EXTENSION_NAME);
  }
  auto* mesh = copy_.find<VkPhysicalDeviceMeshShaderFeaturesEXT>(
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MESH_SHADER_FEATURES_EXT);
  if (mesh && mesh->meshShaderQueries == VK_TRUE) {
    emulated_queries_.mesh_statistics = gpu_.offers_mesh_queries() || forced.mesh;
    if (gpu_.offers_mesh_queries()) mesh->meshShaderQueries = VK_FALSE;
  }
  const auto* feedback = copy_.find<VkPhysicalDeviceTransformFeedbackFeaturesEXT>(
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
  if (gpu_.native_elapsed_timer) return;
  using Features = VkPhysicalDeviceElapsedTimerQueryFeaturesQCOM;
  constexpr VkStructureType kType =
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ELAPSED_TIMER_QUERY_FEATURES_QCOM;
  const auto* features = copy_.find<Features>(kType);
  const Features offered = features_of<Features>(gpu_);
  refuse_unsupported(features, offered, &Features::elapsedTimerQuery);
  emulated_queries_.elapsed_time =
      features && features->elapsedTimerQuery == VK_TRUE && offered.elapsedTimerQuery == VK_TRUE;
  copy_.remove(kType);
  if (gpu_.offers_elapsed_timer())
    copy_.remove_extension(VK_QCOM_ELAPSED_TIMER_QUERY_EXTENSION_NAME);
}

void DeviceCreation::take_performance_queries() {
  if (gpu_.offers_intel_queries()) {
    emulated_queries_.performance_intel =
        copy_.remove_extension(VK_INTEL_PERFORMANCE_QUERY_EXTENSION_NAME);
  }
  if (!gpu_.offers_performance_queries()) return;
  constexpr VkStructureType kType =
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PERFORMANCE_QUERY_FEATURES_KHR;
  const auto* features = copy_.find<VkPhysicalDevicePerformanceQueryFeaturesKHR>(kType);
  performance_query_extension_enabled_ =
      copy_.has_extension(VK_KHR_PERFORMANCE_QUERY_EXTENSION_NAME);
  emulated_queries_.performance = performance_query_extension_enabled_ && features &&
                                  features->performanceCounterQueryPools == VK_TRUE;
  if (gpu_.native_performance_queries) return;  // also needed for the driver's counters
  copy_.remove_extension(VK_KHR_PERFORMANCE_QUERY_EXTENSION_NAME);
  copy_.remove(kType);
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

VkResult DeviceCreation::refusal() const {
  if (unsupported_) return VK_ERROR_FEATURE_NOT_PRESENT;
  if (gpu_.missing.empty()) return VK_SUCCESS;
  return extension_enabled_ || regions_extension_enabled_ ? VK_ERROR_EXTENSION_NOT_PRESENT
                                                          : VK_SUCCESS;
}

void DeviceCreation::enable_needs() {
  enable_needed_features(copy_, {.gpu = gpu_,
                                 .regions = regions_feature_enabled_,
                                 .timestamps = emulated_queries_.timestamps,
                                 .conditional_rendering = conditional_rendering(),
                                 .host_query_reset = driver_counts_samples(),
                                 .sm_builtins = sm_builtins(),
                                 .cache_control = compile_threads() != 0});
  const auto* libraries = copy_.find<VkPhysicalDeviceGraphicsPipelineLibraryFeaturesEXT>(
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_GRAPHICS_PIPELINE_LIBRARY_FEATURES_EXT);
  pipeline_libraries_ = libraries && libraries->graphicsPipelineLibrary == VK_TRUE;
  const auto* shader_objects = copy_.find<VkPhysicalDeviceShaderObjectFeaturesEXT>(
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_OBJECT_FEATURES_EXT);
  shader_objects_ = shader_objects && shader_objects->shaderObject == VK_TRUE;
  const auto* heaps = copy_.find<VkPhysicalDeviceDescriptorHeapFeaturesEXT>(
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DESCRIPTOR_HEAP_FEATURES_EXT);
  descriptor_heaps_ = heaps && heaps->descriptorHeap == VK_TRUE;
  record_memory_ = resolve_record_memory(options_.record_memory, gpu_.memory);
  if (record_memory_ == RecordMemory::Device && !add_transfer_queue()) {
    record_memory_ = RecordMemory::Host;
  }
}

// On a CPU device, machine code is mostly made for the first draw, and draws need the processors.
uint32_t DeviceCreation::compile_threads() const {
  if (!feature_enabled_ || !gpu_.cache_control) return 0;
  const bool always = options_.compile_ahead == CompileAhead::Always;
  const bool cpu = gpu_.properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU;
  if (options_.compile_ahead == CompileAhead::Never || (cpu && !always)) return 0;
  return std::clamp(std::thread::hardware_concurrency() / 2, always ? 2u : 0u, 8u);
}

std::vector<uint32_t> DeviceCreation::queue_families() const {
  std::vector<uint32_t> families;
  for (const VkDeviceQueueCreateInfo& queue : copy_.queues()) {
    if (std::ranges::find(families, queue.queueFamilyIndex) == families.end()) {
      families.push_back(queue.queueFamilyIndex);
    }
  }
  return families;
}

std::optional<QueuePlace> DeviceCreation::compute_queue() const {
  for (const VkDeviceQueueCreateInfo& queue : copy_.queues()) {
    const VkQueueFamilyProperties& family = gpu_.queue_families.at(queue.queueFamilyIndex);
    const bool computes = (family.queueFlags & VK_QUEUE_COMPUTE_BIT) != 0;
    if (computes && is_ordinary(queue)) return QueuePlace{queue.queueFamilyIndex, 0, queue.flags};
  }
  return std::nullopt;
}

// Adds a queue to a family that has one left. Otherwise shares the application's first queue that
// supports the work. Returns whether there is one.
bool DeviceCreation::add_transfer_queue() {
  constexpr VkQueueFlags kCapable = VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT;
  bool shared = false;
  for (size_t i = 0; i < copy_.queues().size(); ++i) {
    const VkDeviceQueueCreateInfo& queue = copy_.queues()[i];
    const VkQueueFamilyProperties& family = gpu_.queue_families.at(queue.queueFamilyIndex);
    if (!is_ordinary(queue) || (family.queueFlags & kCapable) == 0) continue;
    if (!shared) transfer_queue_ = {queue.queueFamilyIndex, 0, queue.flags};
    shared = true;
    if (queue.queueCount >= family.queueCount) continue;
    transfer_queue_ = {queue.queueFamilyIndex, queue.queueCount, queue.flags};
    copy_.add_queue(i, 0.5f);
    return true;
  }
  return shared;
}

}  // namespace tally::counters
