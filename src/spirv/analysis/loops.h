// The loops of a graph.
//
// A loop is a strongly connected component, so a block that leaves the loop (a break, a return) is
// not part of it. The nested loops are the strongly connected components that remain without the
// loop's header, the vertex through which it is entered.
#pragma once

#include <cstdint>
#include <vector>

#include "spirv/analysis/analyzed_module.h"
#include "spirv/analysis/cfg.h"

namespace tally::spirv {

inline constexpr uint32_t kMaxLoopDepth = 12;  // loops nested deeper are not looked for

struct Loop {
  uint32_t header;
  bool has_other_entries;          // the loop is irreducible; `header` is the first entry
  std::vector<uint32_t> vertices;  // ascending, with the header
};

// `successors[v]` lists the successors of v; `entry` is the entry vertex. Outer loops come before
// the loops in them.
std::vector<Loop> find_loops(const std::vector<std::vector<uint32_t>>& successors, uint32_t entry);

// Which blocks of a function are part of a loop as SPIR-V structures it: all that its header
// reaches without its merge block. Unlike a cycle (loops.h), that includes blocks in the loop that
// leave the function.

// Indexed by block. The time is linear in the size of the graph.
std::vector<bool> blocks_in_loops(const Cfg& cfg);

// The nesting depth of conditionals after a compiler has lowered early returns, as Mesa does: the
// code after `if (c) return;` moves into the else branch.

// The nesting depth of the entry point with its callees. An upper bound if control flow is not
// structured. 0 if a control-flow graph cannot be built; the pass refuses such modules.
uint32_t nested_conditionals(const AnalyzedModule& analyzed, const EntryPoint& entry);

}  // namespace tally::spirv
