#include "counters/features/regions/state.h"

#include <algorithm>
#include <bit>
#include <cstddef>

#include "catalogue/catalogue.h"
#include "counters/base/driver_profile.h"
#include "probe/region.h"
#include "vk/chain.h"
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

// Most passes need little. Existing recordings keep their pages.
VkDeviceAddress DrawAccumulators::take(uint64_t bytes, Taken& taken) {
  constexpr uint64_t kPageBytes = uint64_t{4} << 20;
  const std::lock_guard lock(mutex_);
  for (; taken.page < pages_.size(); ++taken.page, taken.bytes = 0) {
    const RecordPage& page = pages_[taken.page];
    if (page.size - taken.bytes < bytes) continue;
    const VkDeviceAddress address = page.address + taken.bytes;
    taken.bytes += bytes;
    return address;
  }
  const uint64_t size = std::max(bytes, kPageBytes);
  RecordPage page;
  if (size > kMaxBytes - allocated_) return 0;
  if (pool_.acquire(size, page) != VK_SUCCESS) {
    vk::take_own_failure();  // the draw is counted with others
    return 0;
  }
  allocated_ += size;
  pages_.push_back(page);
  taken.bytes = bytes;
  return page.address;
}

namespace {

// A list of draws, as glsl/region_draws.comp reads it; its draws follow.
struct DrawList {
  VkDeviceAddress block = 0;
  VkDeviceAddress list = 0;
  uint32_t capacity = 0;
  uint32_t count = 0;
  uint64_t reserved = 0;
};
struct ListedDraw {
  VkDeviceAddress accumulators = 0;
  uint32_t number = 0;
  uint32_t reserved = 0;
};

}  // namespace

DrawListPlace find_draw_list(const BufferRanges& buffers, const void* chain, uint32_t counters) {
  const auto* wanted = vk::find_in_chain<vk::RegionDrawsBegin>(chain, vk::kRegionDrawsType);
  if (!wanted) return {};
  const BufferRanges::Place place = buffers.find(wanted->list);
  const uint64_t bytes =
      sizeof(vk::RegionDrawsHeader) + wanted->capacity * vk::region_draw_entry_bytes(counters);
  if (place.bytes < bytes) return {};
  return {place.buffer, place.offset, wanted->list, wanted->capacity};
}

VkResult RegionDraws::create(HostBlocks& memory, const DrawListPlace& place,
                             VkDeviceAddress block) {
  List& list = lists_.emplace_back();
  TALLY_TRY(memory.take(sizeof(DrawList) + kMaxDraws * sizeof(ListedDraw), list.block));
  const DrawList head{.block = block, .list = place.address, .capacity = place.capacity};
  list.block.write(0, &head, sizeof head);
  return VK_SUCCESS;
}

VkResult RegionDraws::make_block(DrawAccumulators& accumulators, HostBlocks& memory,
                                 probe::RegionBlock copy, uint64_t bytes, uint32_t subpass,
                                 VkDeviceAddress& block) {
  block = 0;
  if (blocks_.size() == kMaxDraws) return VK_SUCCESS;
  const VkDeviceAddress own_accumulators = accumulators.take(bytes, taken_);
  if (own_accumulators == 0) return VK_SUCCESS;
  HostBlock own;
  TALLY_TRY(memory.take(sizeof copy, own));
  copy.header.block_low = static_cast<uint32_t>(own.address);
  copy.header.block_high = static_cast<uint32_t>(own.address >> 32);
  copy.accumulators_low = static_cast<uint32_t>(own_accumulators);
  copy.accumulators_high = static_cast<uint32_t>(own_accumulators >> 32);
  own.write(0, &copy, sizeof copy);
  List& list = lists_[subpass];
  const ListedDraw listed{.accumulators = own_accumulators, .number = draws_ - 1};
  list.block.write(sizeof(DrawList) + list.count * sizeof listed, &listed, sizeof listed);
  ++list.count;
  list.block.write(offsetof(DrawList, count), &list.count, sizeof list.count);
  blocks_.push_back(own);
  block = own.address;
  return VK_SUCCESS;
}

void RegionDraws::enable(uint32_t wanted) const {
  for (const HostBlock& block : blocks_) {
    block.write(offsetof(probe::RegionBlock, wanted), &wanted, sizeof wanted);
  }
}

vk::RegionDrawsHeader RegionDraws::header() const {
  return {.draws = draws_, .counted = static_cast<uint32_t>(blocks_.size())};
}

VkDeviceAddress RegionDraws::list(uint32_t subpass) const {
  return subpass < lists_.size() && lists_[subpass].count != 0 ? lists_[subpass].block.address : 0;
}

}  // namespace tally::counters
