// How deep conditionals stand one in the other once a compiler has written a shader without early
// returns, as Mesa does: what follows `if (c) return;` then stands in the other branch.
#pragma once

#include <cstdint>

#include "spirv/analysis/analyzed_module.h"

namespace tally::spirv {

// Of the entry point with all that it calls; an estimate that is too high where control flow is not
// structured. A module whose functions cannot be followed: 0; the pass refuses it elsewhere.
uint32_t nested_conditionals(const AnalyzedModule& analyzed, const EntryPoint& entry);

}  // namespace tally::spirv
