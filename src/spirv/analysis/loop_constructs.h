// Which blocks of a function are part of a loop as SPIR-V structures it: all that its header
// reaches without its merge block. Unlike a cycle (loops.h), that includes blocks in the loop that
// leave the function.
#pragma once

#include <vector>

#include "spirv/analysis/cfg.h"

namespace tally::spirv {

// Indexed by block. The time is linear in the size of the graph.
std::vector<bool> blocks_in_loops(const Cfg& cfg);

}  // namespace tally::spirv
