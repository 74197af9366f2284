// The loops of a graph.
//
// A loop is a strongly connected component, so a block that leaves the loop (a break, a return) is
// not part of it. The nested loops are the strongly connected components that remain without the
// loop's header, the vertex through which it is entered.
#pragma once

#include <cstdint>
#include <vector>

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

}  // namespace tally::spirv
