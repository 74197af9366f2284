// Places counters so that the counts of all vertices of a flow graph can be derived.
//
// D. E. Knuth, F. R. Stevenson: Optimal measurement points for program frequency counts. BIT 13
// (1973). Split every vertex v into an arc from in(v) to out(v), and identify out(u) with in(v) for
// every edge u -> v. Flow is conserved at every node of this reduced graph. The arcs outside a
// spanning tree determine those of the tree, so counters on them suffice, and fewer do not. A
// maximum spanning tree leaves the cheapest vertices to count.
//
// Tested by random walks over random graphs in placement_test.cpp.
#pragma once

#include <cstdint>
#include <vector>

namespace tally::spirv {

// A closed flow graph: exits lead back to the entry, so that every vertex is left as often as it is
// entered. Functions that are not inlined are separate components, and so are loops whose number of
// iterations is constant.
struct FlowGraph {
  struct Edge {
    uint32_t from, to;
  };
  // The count of `vertex` is `factor` times the sum of those of `addends`, which are vertices of
  // other components (without cycles between components). Without addends the count is given from
  // outside.
  struct Known {
    uint32_t vertex;
    std::vector<uint32_t> addends;
    uint32_t factor = 1;
  };

  uint32_t vertex_count = 0;
  std::vector<Edge> edges;
  std::vector<Known> known;
  std::vector<uint64_t> weights;  // by vertex: the cost of a counter there
};

// count(vertex) = factor * (sum of plus - sum of minus).
struct FlowEquation {
  uint32_t vertex;
  std::vector<uint32_t> plus, minus;
  uint32_t factor = 1;
};

struct FlowPlacement {
  std::vector<uint32_t> counted;  // ascending
  std::vector<FlowEquation>
      derived;  // each from vertices that are counted, given, or derived before
};

FlowPlacement place_minimal(const FlowGraph& graph);

// Two groups of vertices whose counts have the same sum in every closed flow.
struct FlowBalance {
  std::vector<uint32_t> inflow, outflow;
};
std::vector<FlowBalance> flow_balances(const FlowGraph& graph);

}  // namespace tally::spirv
