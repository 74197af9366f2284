// Sites: instructions about which more is counted than how often they ran (plan/site_plan.h).
//
// A site is known by the word offset of its instruction in the module: a loop by its OpLoopMerge,
// a whole shader by the OpFunction of its entry point.
// In results a site stands in place of a block: its number is the offset, with the highest bit set.
#pragma once

#include <cstdint>

namespace tally::spirv {

inline constexpr uint32_t kSiteBit = 1u << 31;

constexpr bool is_site(uint32_t number) { return (number & kSiteBit) != 0; }
constexpr uint32_t site_number(uint32_t word_offset) { return kSiteBit | word_offset; }
constexpr uint32_t word_offset_of(uint32_t site) { return site & ~kSiteBit; }

// The limit of an entry point; further loops are not counted.
inline constexpr uint32_t kMaxCountedLoops = 512;
inline constexpr uint32_t kMaxTimedSites = 1024;

// Lengths of runs are counted in powers of two: 0, 1, 2 to 3, 4 to 7 ..., 65536 or more.
inline constexpr uint32_t kRunBuckets = 18;
// The shortest run of a bucket.
constexpr uint32_t shortest_run(uint32_t bucket) { return bucket == 0 ? 0 : 1u << (bucket - 1); }

// The units of memory that are counted: of buffers, and the banks of 4 bytes of a workgroup's.
inline constexpr uint32_t kSectorBytes = 32;
inline constexpr uint32_t kLineBytes = 128;
inline constexpr uint32_t kBanks = 32;

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
  Cycles,            // of timed invocations, from the begin of the site to its end
  TimedRuns,         // how often a timed invocation came to the end
  TimedInvocations,  // of a whole shader: how many began
  RequestedBytes,    // of an access to memory, as the following
  Subgroups,
  Sectors,
  Lines,
  ExtraPasses,
  MissedAccesses,  // of virtual subgroups: their sectors, lines, passes and texels may lack
  Texels,          // of an access to an image
  TouchedLines,    // of a whole shader: different ones, estimated (LineSketch); not a sum
};
inline constexpr SiteSlot kLastSiteSlot = SiteSlot::TouchedLines;
inline constexpr double kTouchedLinesError = 0.0287;  // the standard error, relative

enum class SiteKind { Loop, Value, Clock, Memory };
constexpr SiteKind kind_of(SiteSlot slot) {
  if (slot < SiteSlot::Nan) return SiteKind::Loop;
  if (slot < SiteSlot::Cycles) return SiteKind::Value;
  return slot < SiteSlot::RequestedBytes ? SiteKind::Clock : SiteKind::Memory;
}
// True if the highest number of several commands counts.
constexpr bool is_maximum(SiteSlot slot) {
  return slot == SiteSlot::LongestRun || slot == SiteSlot::TouchedLines;
}

}  // namespace tally::spirv
