// A render pass that captures counters by region: its memory, and what the host changes in it when
// it is submitted.
#pragma once

#include <vulkan/vulkan_core.h>

#include <vector>

#include "counters/memory/host_blocks.h"
#include "counters/regions/request.h"

namespace tally::counters {

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
