// The nesting depth of conditionals after a compiler has lowered early returns, as Mesa does: the
// code after `if (c) return;` moves into the else branch.
#pragma once

#include <cstdint>

#include "spirv/analysis/analyzed_module.h"

namespace tally::spirv {

// The nesting depth of the entry point with its callees. An upper bound if control flow is not
// structured. 0 if a control-flow graph cannot be built; the pass refuses such modules.
uint32_t nested_conditionals(const AnalyzedModule& analyzed, const EntryPoint& entry);

}  // namespace tally::spirv
