// A VkRenderPassPerformanceCountersByRegionBeginInfoARM, validated.
#pragma once

#include <tally/vulkan_arm.h>
#include <vulkan/vulkan_core.h>

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "counters/memory/device_memory.h"
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

// A render pass that captures counters by region: its memory, and what the host changes in it when
// it is submitted.

// The list of secondary command buffers that a pass executes, as the GPU reads it
// (glsl/region_links.comp).
class SecondaryLinks {
 public:
  VkResult create(HostBlocks& memory);
  bool exist() const { return first_.chunk != nullptr; }
  VkDeviceAddress address() const { return first_.address; }
  // The GPU copies the block at `from` to the one at `to`.
  VkResult add(HostBlocks& memory, VkDeviceAddress from, VkDeviceAddress to);

 private:
  HostBlock first_;
  HostBlock last_;
  uint32_t entries_ = 0;  // in the last node
};

struct RegionPass {
  RegionRequest request;
  std::vector<HostBlock> blocks;  // by subpass
  SecondaryLinks links;           // none if the pass can have no secondaries
  bool began_elsewhere = false;   // it resumes a pass of another command buffer
  bool suspended = false;
  bool enabled = true;

  // Allocates and fills the blocks, but for the addresses of accumulators and tables.
  VkResult make_blocks(const RegionState& state, HostBlocks& memory);
  uint64_t accumulator_bytes() const;  // of one subpass
  void set_accumulators(VkDeviceAddress address) const;
  void set_primitive_tables(VkDeviceAddress address) const;

  // Disabled: the values are 0, because the work could not run exclusively.
  void enable(bool enable);
  // True if a set of primitives overflowed in an earlier execution.
  bool overflowed() const;
  // Continues in the memory of the suspended pass.
  void join(const RegionPass& suspended_pass) const;
};

}  // namespace tally::counters
