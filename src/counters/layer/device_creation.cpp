#include "counters/layer/device_creation.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <thread>

#include "counters/base/driver_profile.h"
#include "counters/features/regions/state.h"
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

void CreateInfoCopy::remove_extension(const char* name) {
  std::erase_if(extensions_, [&](const char* enabled) { return std::strcmp(enabled, name) == 0; });
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

namespace {

struct FeatureNeeds {
  const PhysicalDevice& gpu;
  bool subgroup_clock = false;         // shaders that count read the clock
  bool maximal_reconvergence = false;  // shaders that count accesses to memory
  bool regions = false;                // counters by region
  bool timestamps = false;             // emulated timestamps
  bool conditional_rendering = false;  // the layer records conditional rendering
  bool host_query_reset = false;       // the layer resets queries of the driver
  bool statistics_query = false;       // the driver counts draws
  bool sm_builtins = false;            // vertex shaders read their multiprocessor
  bool wide_subgroups = false;         // subgroup operations of 64-bit numbers
  bool cache_control = false;          // the layer asks whether pipelines are in a cache
};

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
  if (needs.statistics_query) features.pipelineStatisticsQuery = VK_TRUE;
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

void enable_maximal_reconvergence(CreateInfoCopy& info) {
  using Own = VkPhysicalDeviceShaderMaximalReconvergenceFeaturesKHR;
  info.add_extension(VK_KHR_SHADER_MAXIMAL_RECONVERGENCE_EXTENSION_NAME);
  info.set<Own, &Own::shaderMaximalReconvergence>(
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_MAXIMAL_RECONVERGENCE_FEATURES_KHR);
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

void enable_wide_subgroups(CreateInfoCopy& info, const PhysicalDevice& gpu) {
  PromotedFeature<
      &VkPhysicalDeviceVulkan12Features::shaderSubgroupExtendedTypes,
      &VkPhysicalDeviceShaderSubgroupExtendedTypesFeatures::shaderSubgroupExtendedTypes>::
      enable(info, gpu, VK_API_VERSION_1_2, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
             VK_KHR_SHADER_SUBGROUP_EXTENDED_TYPES_EXTENSION_NAME,
             VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_SUBGROUP_EXTENDED_TYPES_FEATURES);
}

// Enables what the layer itself needs of a device: features of the driver that instrumented shaders
// and the layer's own commands use.
void enable_needed_features(CreateInfoCopy& info, const FeatureNeeds& needs) {
  const PhysicalDevice& gpu = needs.gpu;
  enable_core_features(info, needs);
  enable_buffer_device_address(info, gpu);
  enable_timeline_semaphores(info, gpu);
  if (gpu.int64_atomics) enable_int64_atomics(info, gpu);
  if (needs.regions && gpu.multiview) enable_multiview(info);
  if (needs.subgroup_clock) enable_subgroup_clock(info);
  if (needs.maximal_reconvergence) enable_maximal_reconvergence(info);
  if (needs.timestamps) enable_device_clock(info);
  if (needs.conditional_rendering) enable_conditional_rendering(info);
  if (needs.host_query_reset) enable_host_query_reset(info, gpu);
  if (needs.sm_builtins) enable_sm_builtins(info);
  if (needs.wide_subgroups) enable_wide_subgroups(info, gpu);
  if (needs.cache_control) enable_cache_control(info, gpu);
}

// Protected queues are not: they cannot write to memory that the layer reads.
bool is_ordinary(const VkDeviceQueueCreateInfo& queue) {
  constexpr VkDeviceQueueCreateFlags kOrdinary =
      VK_DEVICE_QUEUE_CREATE_INTERNALLY_SYNCHRONIZED_BIT_KHR;
  return (queue.flags & ~kOrdinary) == 0;
}

}  // namespace

DeviceCreation::DeviceCreation(const VkDeviceCreateInfo& info, const PhysicalDevice& gpu,
                               const Options& options)
    : gpu_(gpu),
      options_(options),
      offered_(offered_queries(gpu, options.emulate_queries)),
      copy_(info) {
  // Read before the driver's own feature structs are taken out.
  const auto* primitives = vk::find_in_chain<VkPhysicalDevicePrimitivesGeneratedQueryFeaturesEXT>(
      info.pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PRIMITIVES_GENERATED_QUERY_FEATURES_EXT);
  emulated_queries_.primitives_generated = gpu.missing.empty() && primitives &&
                                           primitives->primitivesGeneratedQuery == VK_TRUE &&
                                           (is_offered(Extension::PrimitivesGenerated, gpu) ||
                                            options.emulate_queries.primitives_generated);
  for (const OfferedExtension& row : offered_extensions()) taken_.push_back(take(row));
  if (gpu.missing.empty()) take_queries();
  if (anything_enabled()) uncounted_ = vk::enabled_hidden_extensions(info);
  if (anything_enabled() && gpu.missing.empty()) enable_needs();
  info_ = copy_.info();
}

// Takes what the driver does not have out of what it gets.
DeviceCreation::Taken DeviceCreation::take(const OfferedExtension& row) {
  const bool native = gpu_.*row.native;
  const bool offered = is_offered(row, gpu_);
  const char* name = row.listed.extensionName;
  if (!offered && (native || gpu_.has_extension(name))) return {};
  Taken taken{.extension = copy_.has_extension(name)};
  if (row.features != kNoStruct) {
    if (auto* features = copy_.find<VkBaseOutStructure>(row.features)) {
      const std::span<const VkBool32> flags = vk::feature_flags(features, row.feature_count);
      for (uint32_t i = 0; i < flags.size(); ++i) {
        lacks_feature_ |= !native && flags[i] == VK_TRUE && !has_feature(row, gpu_, i);
      }
      taken.feature = taken.extension && flags.front() == VK_TRUE;
    }
  }
  lacks_extension_ |= taken.extension && !offered;
  if (native) return taken;
  copy_.remove_extension(name);
  if (row.features != kNoStruct) copy_.remove(row.features);
  return offered ? taken : Taken{};
}

// Removes query features that the driver lacks and the layer emulates.
void DeviceCreation::take_queries() {
  if (VkPhysicalDeviceFeatures* core = copy_.find_core_features()) take_core_queries(*core);
  const Options::ForcedQueries& forced = options_.emulate_queries;
  auto* mesh = copy_.find<VkPhysicalDeviceMeshShaderFeaturesEXT>(
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MESH_SHADER_FEATURES_EXT);
  if (mesh && mesh->meshShaderQueries == VK_TRUE) {
    emulated_queries_.mesh_statistics = offered_.mesh || forced.mesh;
    if (offered_.mesh) mesh->meshShaderQueries = VK_FALSE;
  }
  const auto* feedback = copy_.read<VkPhysicalDeviceTransformFeedbackFeaturesEXT>(
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TRANSFORM_FEEDBACK_FEATURES_EXT);
  emulated_queries_.transform_feedback =
      (offered_.transform_feedback || forced.transform_feedback) && feedback &&
      feedback->transformFeedback == VK_TRUE;
  emulated_queries_.result_status = forced.result_status;
  emulated_queries_.timestamps = offered_.timestamps;
  emulated_queries_.elapsed_time = taken(Extension::ElapsedTimer).feature;
  emulated_queries_.performance = taken(Extension::PerformanceQuery).feature;
  emulated_queries_.performance_intel = taken(Extension::IntelPerformanceQuery).extension;
}

void DeviceCreation::take_core_queries(VkPhysicalDeviceFeatures& features) {
  const Options::ForcedQueries& forced = options_.emulate_queries;
  if (offered_.inherited && !gpu_.inherited_queries) {
    features.inheritedQueries = VK_FALSE;
  }
  if (features.pipelineStatisticsQuery == VK_TRUE) {
    emulated_queries_.statistics = offered_.statistics || forced.statistics;
    if (offered_.statistics) features.pipelineStatisticsQuery = VK_FALSE;
  }
  if (features.occlusionQueryPrecise == VK_TRUE) {
    emulated_queries_.occlusion = offered_.occlusion || forced.occlusion;
    if (offered_.occlusion) features.occlusionQueryPrecise = VK_FALSE;
  }
}

VkResult DeviceCreation::refusal() const {
  if (lacks_feature_) return VK_ERROR_FEATURE_NOT_PRESENT;
  return lacks_extension_ ? VK_ERROR_EXTENSION_NOT_PRESENT : VK_SUCCESS;
}

void DeviceCreation::enable_needs() {
  const bool times_regions = regions_enabled() && counts_subgroup_clock(gpu_);
  const bool times_shaders =
      options_.clocks_log2 && gpu_.subgroup_clock && instrumentation_enabled();
  enable_needed_features(
      copy_, {.gpu = gpu_,
              .subgroup_clock = times_regions || times_shaders,
              .maximal_reconvergence =
                  options_.count_memory && gpu_.maximal_reconvergence && instrumentation_enabled(),
              .regions = regions_enabled(),
              .timestamps = emulated_queries_.timestamps,
              .conditional_rendering = conditional_rendering(),
              .host_query_reset = driver_counts_samples() || driver_counts_draws(),
              .statistics_query = driver_counts_draws(),
              .sm_builtins = sm_builtins(),
              .wide_subgroups = wide_subgroups(),
              .cache_control = compile_threads() != 0});
  const auto* libraries = copy_.read<VkPhysicalDeviceGraphicsPipelineLibraryFeaturesEXT>(
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_GRAPHICS_PIPELINE_LIBRARY_FEATURES_EXT);
  pipeline_libraries_ = libraries && libraries->graphicsPipelineLibrary == VK_TRUE;
  const auto* shader_objects = copy_.read<VkPhysicalDeviceShaderObjectFeaturesEXT>(
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_OBJECT_FEATURES_EXT);
  shader_objects_ = shader_objects && shader_objects->shaderObject == VK_TRUE;
  const auto* heaps = copy_.read<VkPhysicalDeviceDescriptorHeapFeaturesEXT>(
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DESCRIPTOR_HEAP_FEATURES_EXT);
  descriptor_heaps_ = heaps && heaps->descriptorHeap == VK_TRUE;
  record_memory_ = resolve_record_memory(options_.record_memory, gpu_.memory);
  if (record_memory_ == RecordMemory::Device && !add_transfer_queue()) {
    record_memory_ = RecordMemory::Host;
  }
}

bool DeviceCreation::wide_subgroups() const {
  return gpu_.wide_subgroups && driver_profile(gpu_).prefers_small_code;
}

bool DeviceCreation::driver_counts_draws() const {
  return instrumentation_enabled() && !emulated_queries_.any() &&
         options_.record_memory != RecordMemory::Device && driver_profile(gpu_).counts_invocations;
}

// On a CPU device most pipelines that run are counted in all they run, and making a second one
// costs about as much as the first. With these extensions the driver gets handles of pipelines in
// other ways than by vkCmdBindPipeline (tests/checks/pipeline_handles.py).
bool DeviceCreation::makes_pipelines_late() const {
  constexpr std::array kUses = {
      "VK_AMDX_shader_enqueue",
      "VK_AMD_shader_info",
      "VK_EXT_device_generated_commands",
      "VK_EXT_pipeline_properties",
      "VK_KHR_pipeline_executable_properties",
      "VK_NV_device_generated_commands",
      "VK_NV_device_generated_commands_compute",
  };
  return instrumentation_enabled() && gpu_.properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU &&
         options_.compile_ahead != CompileAhead::Always &&
         std::ranges::none_of(kUses, [&](const char* name) { return has_extension(name); });
}

// On a CPU device, machine code is mostly made for the first draw, and draws need the processors.
uint32_t DeviceCreation::compile_threads() const {
  if (!instrumentation_enabled() || !gpu_.cache_control) return 0;
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

bool DeviceCreation::has_one_queue() const {
  return copy_.queues().size() == 1 && copy_.queues().front().queueCount == 1;
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
