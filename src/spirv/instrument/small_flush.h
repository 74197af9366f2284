// The code that adds an invocation's private counts to the record when the invocation ends, in few
// instructions: for shaders with few counters on drivers whose compiler takes long
// (DriverWorkarounds::prefers_small_code).
//
// Counts of at most 1 are summed over the subgroup, and one lane adds the sums. Where an invocation
// may flush twice, no count is certain and most are 0: each lane adds those of its own that are
// set. All other counts are numbers, whose sum may not fit into 32 bits: each lane adds its own.
// With many counters all that takes longer on the device than what FlushCode does.
#pragma once

#include <span>

#include "spirv/instrument/flush_code.h"

namespace tally::spirv {

// At most four: their sums are the bytes of a word.
inline constexpr size_t kFewCounters = 4;

// The body of `void flush()`, as FlushCode::emit.
void emit_small_flush(InstructionBuilder& code, const CountingTools& tools,
                      std::span<const PrivateSlot> slots, std::span<const uint32_t> variables);

}  // namespace tally::spirv
