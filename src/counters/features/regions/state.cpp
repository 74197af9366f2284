#include "counters/features/regions/state.h"

#include <algorithm>
#include <bit>

#include "counters/base/driver_profile.h"
#include "probe/region.h"
#include "vk/own_call.h"

namespace tally::counters {
namespace {

// The number of full subgroups (log2) in a complete region.
constexpr uint32_t kWarpsLog2 = 8;

// The power-of-two rectangle of that area: square, or twice as wide as high.
RegionSize default_size(uint32_t subgroup_size) {
  const auto area_log2 = kWarpsLog2 + static_cast<uint32_t>(std::bit_width(subgroup_size)) - 1;
  return {(area_log2 + 1) / 2, area_log2 / 2};
}

}  // namespace

bool counts_subgroup_clock(const PhysicalDevice& gpu) {
  return gpu.subgroup_clock && (gpu.subgroup_stages & VK_SHADER_STAGE_FRAGMENT_BIT) != 0;
}

// Where both sides of a branch are executed, code that counts primitives is expensive even if it is
// not used.
bool counts_primitives(const PhysicalDevice& gpu, const Options& options) {
  return gpu.geometry_shader && gpu.int64_atomics &&
         (options.region_primitives != 0 || !driver_profile(gpu).masks_branches);
}

std::vector<const catalogue::Counter*> region_counters(const PhysicalDevice& gpu,
                                                       const Options& options) {
  auto counters = catalogue::counters_of(catalogue::Scope::Region);
  if (!counts_subgroup_clock(gpu)) {
    std::erase(counters, &catalogue::counter(catalogue::Number::ShaderClock));
  }
  if (!counts_primitives(gpu, options)) {
    std::erase(counters, &catalogue::counter(catalogue::Number::FragmentPrimitives));
  }
  return counters;
}

RegionProperties region_properties(const PhysicalDevice& gpu, const Options& options) {
  RegionProperties properties;
  properties.size = options.region_size.value_or(default_size(gpu.subgroup_size));
  properties.subgroup_size = gpu.subgroup_size;
  properties.counters = static_cast<uint32_t>(region_counters(gpu, options).size());
  // The default is one per pixel, but several primitives can cover the pixels of a small region.
  constexpr uint32_t kMinPrimitivesLog2 = 4;
  properties.primitives_log2 =
      options.region_primitives == 0
          ? std::max(properties.size.width_log2 + properties.size.height_log2, kMinPrimitivesLog2)
          : static_cast<uint32_t>(std::bit_width(options.region_primitives - 1));
  properties.region_alignment = probe::kRegionAccumulatorBytes;
  properties.row_alignment = probe::kRegionAccumulatorBytes;
  return properties;
}

// Existing recordings keep their pages: a larger page is an additional one.
VkResult PrimitiveTables::find(uint64_t bytes, RecordPage& page) {
  const std::lock_guard lock(mutex_);
  if (largest_.size < bytes) {
    RecordPage larger;
    TALLY_TRY(pool_.acquire(bytes, larger));
    largest_ = larger;
  }
  page = largest_;
  return VK_SUCCESS;
}

spirv::RegionOptions region_options(const PhysicalDevice& gpu, const Options& settings) {
  spirv::RegionOptions options;
  if (gpu.geometry_shader) options.layer_capability = spv::Capability::Geometry;
  options.multiview = gpu.multiview;
  options.subgroup_clock = counts_subgroup_clock(gpu);
  options.primitives = counts_primitives(gpu, settings);
  return options;
}

}  // namespace tally::counters
