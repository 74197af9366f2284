#include "counters/layer/offered_extensions.h"

#include <tally/vulkan_arm.h>
#include <tally/vulkan_newest.h>

#include <algorithm>

namespace tally::counters {
namespace {

// Elapsed time is the difference of two timestamps of the driver.
bool has_timestamps(const PhysicalDevice& gpu) {
  return std::ranges::any_of(gpu.queue_families, [](const VkQueueFamilyProperties& family) {
    return family.timestampValidBits != 0;
  });
}

// The last one is primitivesGeneratedQueryWithNonZeroStreams.
bool has_primitives_feature(const PhysicalDevice& gpu, uint32_t feature) {
  return feature < 2 || gpu.has_extension(VK_EXT_TRANSFORM_FEEDBACK_EXTENSION_NAME);
}

constexpr OfferedExtension kExtensions[] = {
    {.listed = {VK_ARM_PERFORMANCE_COUNTERS_BY_REGION_EXTENSION_NAME,
                VK_ARM_PERFORMANCE_COUNTERS_BY_REGION_SPEC_VERSION},
     .native = &PhysicalDevice::native_regions,
     .features = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PERFORMANCE_COUNTERS_BY_REGION_FEATURES_ARM,
     .feature_count = 1,
     .properties = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PERFORMANCE_COUNTERS_BY_REGION_PROPERTIES_ARM},
    {.listed = {VK_ARM_SHADER_INSTRUMENTATION_EXTENSION_NAME,
                VK_ARM_SHADER_INSTRUMENTATION_SPEC_VERSION},
     .native = &PhysicalDevice::native,
     .features = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INSTRUMENTATION_FEATURES_ARM,
     .feature_count = 1,
     .properties = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INSTRUMENTATION_PROPERTIES_ARM,
     .commands = HookCondition::InstrumentationExtension},
    {.listed = {VK_KHR_PERFORMANCE_QUERY_EXTENSION_NAME, VK_KHR_PERFORMANCE_QUERY_SPEC_VERSION},
     .native = &PhysicalDevice::native_performance_queries,
     .beside_native = true,
     .features = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PERFORMANCE_QUERY_FEATURES_KHR,
     .feature_count = 2,
     .properties = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PERFORMANCE_QUERY_PROPERTIES_KHR,
     .commands = HookCondition::ProfilingLock},
    {.listed = {VK_INTEL_PERFORMANCE_QUERY_EXTENSION_NAME, VK_INTEL_PERFORMANCE_QUERY_SPEC_VERSION},
     .native = &PhysicalDevice::native_intel_queries,
     .commands = HookCondition::IntelQueries},
    {.listed = {VK_EXT_PRIMITIVES_GENERATED_QUERY_EXTENSION_NAME,
                VK_EXT_PRIMITIVES_GENERATED_QUERY_SPEC_VERSION},
     .native = &PhysicalDevice::primitives_generated_query,
     .features = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PRIMITIVES_GENERATED_QUERY_FEATURES_EXT,
     .feature_count = 3,
     .has_feature = has_primitives_feature},
    {.listed = {VK_QCOM_ELAPSED_TIMER_QUERY_EXTENSION_NAME,
                VK_QCOM_ELAPSED_TIMER_QUERY_SPEC_VERSION},
     .native = &PhysicalDevice::native_elapsed_timer,
     .needs = has_timestamps,
     .features = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ELAPSED_TIMER_QUERY_FEATURES_QCOM,
     .feature_count = 1},
};

bool emulates_timestamps(const PhysicalDevice& gpu, const Options::ForcedQueries& forced) {
  return gpu.device_clock &&
         std::ranges::none_of(gpu.queue_families, [&](const VkQueueFamilyProperties& family) {
           const bool computes = (family.queueFlags & VK_QUEUE_COMPUTE_BIT) != 0;
           return family.timestampValidBits != 0 && !(forced.timestamps && computes);
         });
}

}  // namespace

std::span<const OfferedExtension> offered_extensions() { return kExtensions; }

const OfferedExtension& offered_extension(Extension extension) {
  return kExtensions[static_cast<size_t>(extension)];
}

bool is_offered(const OfferedExtension& row, const PhysicalDevice& gpu) {
  return gpu.missing.empty() && (row.beside_native || !(gpu.*row.native)) &&
         (!row.needs || row.needs(gpu));
}

bool is_offered(Extension extension, const PhysicalDevice& gpu) {
  return is_offered(offered_extension(extension), gpu);
}

bool has_feature(const OfferedExtension& row, const PhysicalDevice& gpu, uint32_t feature) {
  return is_offered(row, gpu) && (!row.has_feature || row.has_feature(gpu, feature));
}

OfferedQueries offered_queries(const PhysicalDevice& gpu, const Options::ForcedQueries& forced) {
  if (!gpu.missing.empty()) return {};
  return {.statistics = !gpu.statistics_query,
          .occlusion = !gpu.precise_occlusion,
          .mesh = gpu.mesh_shader && !gpu.mesh_queries,
          .transform_feedback = gpu.transform_feedback && !gpu.transform_feedback_queries,
          .inherited = forced.statistics && forced.occlusion && forced.primitives_generated,
          .timestamps = emulates_timestamps(gpu, forced)};
}

uint32_t offered_push_data(const PhysicalDevice& gpu) {
  if (gpu.max_push_data == 0 || !gpu.missing.empty()) return 0;
  const bool objects = gpu.has_extension(VK_EXT_SHADER_OBJECT_EXTENSION_NAME);
  const bool libraries = gpu.has_extension(VK_EXT_GRAPHICS_PIPELINE_LIBRARY_EXTENSION_NAME);
  const uint32_t stages = objects ? 5 : libraries ? 2 : 1;
  constexpr uint32_t kOthers = 2;        // counters by region, and the address of a moved block
  constexpr uint32_t kGuaranteed = 256;  // programs take it for granted
  const uint32_t reserved = 8 * (stages + kOthers);
  return std::max(gpu.max_push_data - std::min(gpu.max_push_data, reserved),
                  std::min(gpu.max_push_data, kGuaranteed));
}

}  // namespace tally::counters
