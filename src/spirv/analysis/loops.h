// How many loops each vertex of a graph lies in.
//
// A loop is a strongly connected part: what cannot run twice for one entry lies in none, so a block
// that leaves a loop for good (a break, a return) is outside it wherever it stands in the text.
// Nested loops are what is still connected without the vertex through which the outer loop is
// entered.
#pragma once

#include <cstdint>
#include <vector>

namespace tally::spirv {

inline constexpr uint32_t kMaxLoopDepth = 12;  // deeper ones are counted as this deep

// `successors[v]` lists the vertices after v; vertex `entry` is where the graph is entered.
std::vector<uint32_t> loop_depths(const std::vector<std::vector<uint32_t>>& successors,
                                  uint32_t entry);

}  // namespace tally::spirv
