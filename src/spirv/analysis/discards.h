// Whether invocations of a fragment shader may be discarded (killed, terminated, demoted) while
// others go round a loop.
#pragma once

#include "spirv/analysis/analyzed_module.h"

namespace tally::spirv {

bool is_discard(spv::Op opcode);

// In a loop of a function that the entry point runs, or in what is called there. A module whose
// functions cannot be followed: no; the pass refuses it elsewhere.
bool discards_in_loop(const AnalyzedModule& analyzed, const EntryPoint& entry);

}  // namespace tally::spirv
