// Counts by region of single draws, which VK_ARM_performance_counters_by_region does not have: what
// the capture layer asks VK_LAYER_TALLY_counters for, and what it gets. Other implementations of
// the extension ignore the struct.
#pragma once

#include <vulkan/vulkan_core.h>

#include <cstdint>

namespace tally::vk {

// A private type, far above those that are given to extensions.
inline constexpr auto kRegionDrawsType = static_cast<VkStructureType>(1'999'990'001);

// Follows the VkRenderPassPerformanceCountersByRegionBeginInfoARM of a render pass that is neither
// suspended nor resumed, and stands before all structs of the application.
struct RegionDrawsBegin {
  VkStructureType type = kRegionDrawsType;
  const void* next = nullptr;
  // A RegionDrawsHeader, then `capacity` entries: memory of a buffer with TRANSFER_DST usage in
  // addition to what the extension needs.
  VkDeviceAddress list = 0;
  uint32_t capacity = 0;
};

inline constexpr uint32_t kRegionDrawsMagic = 0x44524754;

struct RegionDrawsHeader {
  uint32_t magic = kRegionDrawsMagic;
  uint32_t draws = 0;    // commands of the pass that draw, without those in secondaries
  uint32_t counted = 0;  // of them, how many were counted each on its own
  uint32_t entries = 0;  // may exceed the capacity: the others are lost
};

// An entry is the values of one draw in one region where it counted anything, in any order: the
// draw's number among the drawing commands of the pass (without those in secondaries), the region's
// index (layer, then row, then column), and a word for each counter that the pass enables.
constexpr uint64_t region_draw_entry_bytes(uint32_t counters) {
  return (2 + uint64_t{counters}) * sizeof(uint32_t);
}

}  // namespace tally::vk
