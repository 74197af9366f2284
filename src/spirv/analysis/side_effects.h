// Effects of an instruction that other invocations, or the host, can see.
#pragma once

#include "spirv/ir/module.h"

namespace tally::spirv {

// True if it may write to memory that is not private to the invocation, or lock it. Discards and
// barriers are none. The answer is conservative: true for instructions that are not known.
bool has_side_effect(const Module& module, const Instruction& instruction);

}  // namespace tally::spirv
