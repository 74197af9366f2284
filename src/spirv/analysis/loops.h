// The loop nesting depth of each vertex of a graph.
//
// A loop is a strongly connected component, so a block that leaves the loop (a break, a return) is
// not part of it. The nested loops are the strongly connected components that remain without the
// loop's header, the vertex through which it is entered.
#pragma once

#include <cstdint>
#include <vector>

namespace tally::spirv {

inline constexpr uint32_t kMaxLoopDepth = 12;  // greater depths are reported as this one

// `successors[v]` lists the successors of v; `entry` is the entry vertex.
std::vector<uint32_t> loop_depths(const std::vector<std::vector<uint32_t>>& successors,
                                  uint32_t entry);

}  // namespace tally::spirv
