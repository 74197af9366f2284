// Finds fragment shaders that may discard (kill, terminate, demote) invocations inside a loop.
#pragma once

#include "spirv/analysis/analyzed_module.h"

namespace tally::spirv {

bool is_discard(spv::Op opcode);

// Looks at the loops of all functions that the entry point calls, and at the functions called in
// these loops. False if a control-flow graph cannot be built; the pass refuses such modules.
bool discards_in_loop(const AnalyzedModule& analyzed, const EntryPoint& entry);

}  // namespace tally::spirv
