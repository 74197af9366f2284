// The code that adds an invocation's private counts to the record when the invocation ends, in few
// instructions: for shaders with few counters on drivers whose compiler takes long
// (DriverWorkarounds::prefers_small_code).
//
// Counts of at most 1 are the bytes of a word from the start, which a fragment's samples join at
// the end. One sum over the subgroup adds all of them, and one lane adds the sums to memory.
// llvmpipe turns every subgroup operation and every access to memory into a loop over the lanes, so
// compute shaders use as few as they can: that lane is lane 0, and where subgroups are full, each
// lane adds one of the sums, all in one access. Where the driver allows it, fragment shaders sum up
// with shuffles (DriverWorkarounds::shuffles_inactive_lanes), which take no loop.
//
// Each lane adds its own counts without subgroup operations, and where no counter is certain to
// count, because most are then 0. Counts that may be larger are added by each lane, since their sum
// may not fit into 32 bits. With many counters all that takes longer on the device than what
// FlushCode does. Draws must not be mixed in a subgroup (RecordWriter::may_be_mixed).
#pragma once

#include <span>

#include "spirv/instrument/flush_code.h"

namespace tally::spirv {

// At most four: their sums are the bytes of a word. llvmpipe has at most 4 samples.
inline constexpr size_t kFewCounters = 4;

// The first bit of a count of at most 1, or of a fragment's samples, in a word whose bytes the sums
// become. An invocation's word begins with the bits of EveryInvocation.
constexpr uint32_t small_bit(size_t counter) { return static_cast<uint32_t>(8 * counter); }

// As FlushCode::emit, where flags have the bits of small_bit.
void emit_small_flush(InstructionBuilder& code, const CountingTools& tools,
                      std::span<const PrivateSlot> slots, std::span<const uint32_t> variables);

}  // namespace tally::spirv
