#include "counters/features/regions/state.h"

#include <bit>

#include "probe/region.h"

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

std::vector<const catalogue::Counter*> region_counters(const PhysicalDevice& gpu) {
  auto counters = catalogue::counters_of(catalogue::Scope::Region);
  if (!gpu.counts_subgroup_clock()) {
    std::erase(counters, &catalogue::counter(catalogue::Number::ShaderClock));
  }
  if (!gpu.counts_primitives()) {
    std::erase(counters, &catalogue::counter(catalogue::Number::FragmentPrimitives));
  }
  return counters;
}

RegionProperties region_properties(const PhysicalDevice& gpu, const Options& options) {
  RegionProperties properties;
  properties.size = options.region_size.value_or(default_size(gpu.subgroup_size));
  properties.subgroup_size = gpu.subgroup_size;
  properties.counters = static_cast<uint32_t>(region_counters(gpu).size());
  // The default is one per pixel.
  properties.primitives_log2 =
      options.region_primitives == 0
          ? properties.size.width_log2 + properties.size.height_log2
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
    const VkResult result = pool_.acquire(bytes, larger);
    if (result != VK_SUCCESS) return result;
    largest_ = larger;
  }
  page = largest_;
  return VK_SUCCESS;
}

spirv::RegionOptions region_options(const PhysicalDevice& gpu) {
  spirv::RegionOptions options;
  if (gpu.geometry_shader) options.layer_capability = spv::Capability::Geometry;
  options.multiview = gpu.multiview;
  options.subgroup_clock = gpu.counts_subgroup_clock();
  options.primitives = gpu.counts_primitives();
  return options;
}

}  // namespace tally::counters
