// The places of sites (sites.h) in a module.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "spirv/analysis/block_map.h"
#include "spirv/analysis/source_info.h"
#include "spirv/ir/module.h"

namespace tally::spirv {

struct SitePlace {
  uint32_t word_offset;
  uint32_t instruction;                    // index into the module's
  uint32_t block;                          // number in the BlockMap
  std::optional<SourceLocation> location;  // of a loop without one: of the next that has one
};

// The places of the sites with these word offsets, ascending, each once. Those that are no
// instruction of the map's functions are left out. Files are those of the map.
std::vector<SitePlace> site_places(const Module& module, const BlockMap& map,
                                   std::span<const uint32_t> word_offsets);

}  // namespace tally::spirv
