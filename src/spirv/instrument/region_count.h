// Counting by region of the framebuffer: what VK_ARM_performance_counters_by_region counts of a
// fragment shader. A part of the block-count pass (block_count.h), beside the counts of blocks or
// without them.
//
// An invocation counts in private variables, as it does for blocks, and adds when it ends what the
// region's counters make of them to the accumulators of its region (probe/region.h): a counter of
// instructions is a sum of block counts times what the blocks cost, so few variables serve all
// counters. Only counters that the render pass wants cost an addition. All is modulo 2^32.
#pragma once

#include <optional>
#include <spirv/unified1/spirv.hpp11>

namespace tally::spirv {

struct RegionOptions {
  // What a fragment shader may read the layer with (Geometry, ShaderLayer ...): where nothing is
  // given, all is layer 0.
  std::optional<spv::Capability> layer_capability;
  bool multiview = false;       // the device has views
  bool subgroup_clock = false;  // ... and shaderSubgroupClock
  // The device has PrimitiveId in fragment shaders, and 64-bit atomics. The region's address word
  // is then that of a probe::RegionHeader.
  bool primitives = false;
  bool primitive_ids = true;  // the stages before set PrimitiveId
};

}  // namespace tally::spirv
