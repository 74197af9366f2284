// Sites: instructions about which more is counted than how often they ran (plan/site_plan.h).
//
// A site is known by the word offset of its instruction in the module: a loop by its OpLoopMerge.
// In results a site stands in place of a block: its number is the offset, with the highest bit set.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "spirv/analysis/block_map.h"
#include "spirv/analysis/source_info.h"
#include "spirv/ir/module.h"

namespace tally::spirv {

inline constexpr uint32_t kSiteBit = 1u << 31;

constexpr bool is_site(uint32_t number) { return (number & kSiteBit) != 0; }
constexpr uint32_t site_number(uint32_t word_offset) { return kSiteBit | word_offset; }
constexpr uint32_t word_offset_of(uint32_t site) { return site & ~kSiteBit; }

// Lengths of runs are counted in powers of two: 0, 1, 2 to 3, 4 to 7 ..., 65536 or more.
inline constexpr uint32_t kRunBuckets = 18;
// The shortest run of a bucket.
constexpr uint32_t shortest_run(uint32_t bucket) { return bucket == 0 ? 0 : 1u << (bucket - 1); }

// The numbers that a site may have, in the order of the catalogue's counters of Scope::Site.
enum class SiteSlot : uint32_t {
  Iterations,  // of a loop
  LongestRun,  // of a loop: a maximum, not a sum
  Runs,        // of a loop: the first of kRunBuckets
  Nan = Runs + kRunBuckets,
  Infinite,
  Denormal,
  ZeroDivision,
  Negative,
  OutOfRange,
};
constexpr bool is_of_loop(SiteSlot slot) { return slot < SiteSlot::Nan; }
constexpr bool is_maximum(SiteSlot slot) { return slot == SiteSlot::LongestRun; }

// Where a site is.
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
