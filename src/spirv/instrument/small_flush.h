// The code that adds an invocation's private counts to the record when the invocation ends, in few
// instructions: for drivers whose compiler takes long (DriverWorkarounds::prefers_small_code).
// FlushCode is faster on a GPU, and several times as long.
//
// Counts that are at most 1 in each lane are summed over the subgroup if every invocation has one
// of them; a single lane adds the sums. Where invocations may flush twice, most lanes have only
// zeros, so each lane adds those of its own counts that are set. All other counts are numbers,
// whose sum may not fit into 32 bits: each lane adds its own.
#pragma once

#include <span>

#include "spirv/instrument/flush_code.h"

namespace tally::spirv {

// The body of `void flush()`, as FlushCode::emit.
void emit_small_flush(InstructionBuilder& code, const CountingTools& tools,
                      std::span<const PrivateSlot> slots, std::span<const uint32_t> variables);

}  // namespace tally::spirv
