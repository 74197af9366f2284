// Counters by region (VK_ARM_performance_counters_by_region): what the device supports, and where
// the values of a recorded pass are written.
#pragma once

#include <tally/vulkan_arm.h>
#include <vulkan/vulkan_core.h>

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "capture/base/tables.h"
#include "capture/record/host_memory.h"
#include "vk/region_draws.h"

namespace tally::capture {

// Determined before the device is created.
struct RegionSetup {
  bool enabled = false;
  bool by_draw = false;                // each draw is counted too
  std::string reason;                  // why it is not enabled although it was requested
  bool add_address_extension = false;  // enable VK_KHR_buffer_device_address, not only the feature
  std::vector<std::string> names;
  std::vector<uint32_t> counters;  // ids
  VkExtent2D region{};
  uint32_t row_alignment = 1;
  uint32_t region_alignment = 1;
  VkPhysicalDeviceMemoryProperties memory{};  // also where it is not enabled
};

// The properties of a render pass that the values by region depend on.
struct PassShape {
  VkRect2D area{};
  uint32_t subpasses = 1;
  uint32_t layers = 1;  // or views
  bool whole = true;    // neither suspended nor resumed
};

// The values of one draw in one region: the draw's number in the pass, the region's index (layer,
// row, column), and a value for each counter.
struct DrawEntry {
  uint32_t draw = 0;
  uint32_t place = 0;
  const std::byte* values = nullptr;

  uint32_t value(uint32_t counter) const;
};

// The location of the values of a recorded pass.
struct RecordedRegions {
  PassShape shape;
  uint32_t columns = 0, rows = 0;
  VkDeviceSize region_bytes = 0, row_bytes = 0;
  HostPiece values;            // of each subpass and layer, in sequence
  HostPiece draws;             // a vk::RegionDrawsHeader and its entries
  std::string no_draws;        // why, although they were asked for
  uint32_t draw_capacity = 0;  // 0: the draws are not counted

  VkDeviceSize layer_bytes() const { return row_bytes * rows; }
  // Returns the values of a counter in all regions of a subpass and layer. Call it after the pass
  // has been executed.
  std::vector<uint32_t> read(uint32_t subpass, uint32_t layer, uint32_t counter) const;
  vk::RegionDrawsHeader draws_header() const;
  // Sorted by draw, then place.
  std::vector<DrawEntry> draw_entries(uint32_t counters) const;
};

class RegionCapture {
 public:
  explicit RegionCapture(RegionSetup setup) : setup_(std::move(setup)) {}

  bool enabled() const { return setup_.enabled; }
  uint32_t counters() const { return static_cast<uint32_t>(setup_.counters.size()); }
  const uint32_t* counter_ids() const { return setup_.counters.data(); }
  VkExtent2D region() const { return setup_.region; }

  // If the pass cannot be captured, returns nullopt and sets `reason`.
  std::optional<RecordedRegions> prepare(const PassShape& shape, HostPieces& pieces,
                                         std::string& reason) const;

 private:
  // Without memory for them the pass is counted without its draws.
  void prepare_draws(RecordedRegions& regions, HostPieces& pieces) const;

  const RegionSetup setup_;
};

inline constexpr VkStructureType kRegionBeginType =
    VK_STRUCTURE_TYPE_RENDER_PASS_PERFORMANCE_COUNTERS_BY_REGION_BEGIN_INFO_ARM;

// A begin info (VkRenderPassBeginInfo, VkRenderingInfo) that requests values by region.
template <typename Info>
class RegionBegin {
 public:
  explicit RegionBegin(const Info& info) : original_(info), changed_(info) {}
  RegionBegin(const RegionBegin&) = delete;
  RegionBegin& operator=(const RegionBegin&) = delete;

  void ask(const RegionCapture& capture, const RecordedRegions& regions) {
    const uint32_t count = regions.shape.subpasses * regions.shape.layers;
    for (uint32_t i = 0; i < count; ++i) {
      addresses_.push_back(regions.values.address + i * regions.layer_bytes());
    }
    begin_ = {kRegionBeginType,
              const_cast<void*>(original_.pNext),
              count,
              addresses_.data(),
              VK_FALSE,
              capture.counters(),
              const_cast<uint32_t*>(capture.counter_ids())};
    changed_.pNext = &begin_;
    if (regions.draw_capacity == 0) return;
    draws_.list = regions.draws.address;
    draws_.capacity = regions.draw_capacity;
    draws_.next = original_.pNext;
    begin_.pNext = &draws_;
  }
  const Info* info() const { return addresses_.empty() ? &original_ : &changed_; }

 private:
  const Info& original_;
  Info changed_;
  VkRenderPassPerformanceCountersByRegionBeginInfoARM begin_{};
  vk::RegionDrawsBegin draws_;
  std::vector<VkDeviceAddress> addresses_;
};

// Checks the support of a device for VK_ARM_performance_counters_by_region before it is created.

bool offers_extension(const InstanceTable& table, VkPhysicalDevice device, const char* name);
bool enables_extension(const VkDeviceCreateInfo& info, const char* name);

// Sets `enabled`, or `reason` if it cannot be enabled.
RegionSetup inspect_regions(const InstanceTable& table, VkPhysicalDevice device,
                            const VkDeviceCreateInfo& info,
                            std::span<const VkQueueFamilyProperties> families);

}  // namespace tally::capture
