// A VkRenderPassPerformanceCountersByRegionBeginInfoARM, validated.
#pragma once

#include <vulkan/vulkan_core.h>

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include <tally/vulkan_arm.h>

#include "probe/region.h"

namespace tally::counters {

struct RegionState;

// The render pass instance that begins.
struct RenderPassInstance {
  VkRect2D area{};
  uint32_t subpasses = 1;
  uint32_t layers = 1;  // or views
  bool multiview = false;
  bool may_execute_secondaries = true;
  bool suspending = false;
  bool resuming = false;
};

struct RegionRequest {
  RenderPassInstance instance;
  uint32_t columns = 0, rows = 0;  // regions
  uint32_t region_bytes = 0, row_bytes = 0;
  uint32_t wanted = 0;                     // bit mask of accumulators
  uint32_t primitive_limit = 0;            // of a region; 0: primitives are not counted
  std::vector<uint32_t> counters;          // the accumulator of each enabled counter
  std::vector<VkDeviceAddress> addresses;  // by subpass, then layer; null: not captured

  // The block of a subpass, without the address of its accumulators.
  probe::RegionBlock block(const RegionState& state) const;
  bool subpass_wanted(uint32_t subpass) const;
  bool counts_primitives() const { return primitive_limit != 0; }
  bool counts_only_invocations() const;
  // The size of the sets of primitives of all subpasses.
  uint64_t table_bytes() const;
};

// Reports misuse. Returns nothing if nothing can be captured. Addresses that must not be written to
// become null.
std::optional<RegionRequest> check_region_request(
    const RegionState& state, VkCommandBuffer commands,
    const VkRenderPassPerformanceCountersByRegionBeginInfoARM& info,
    const RenderPassInstance& instance);

}  // namespace tally::counters
