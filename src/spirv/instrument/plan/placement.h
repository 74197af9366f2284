// Where counters must stand so that the counts of all vertices of a flow graph follow from them.
//
// D. E. Knuth, F. R. Stevenson: Optimal measurement points for program frequency counts. BIT 13
// (1973). Split every vertex v into an arc from in(v) to out(v), and identify out(u) with in(v) for
// every edge u -> v. In every node of this reduced graph as much flows in as out. The arcs outside
// a spanning tree determine those of the tree, so only the former are counted: no fewer can do. The
// tree of greatest weight leaves the cheapest vertices to count.
//
// Tested by random walks over random graphs in placement_test.cpp.
#pragma once

#include <cstdint>
#include <vector>

namespace tally::spirv {

// A flow graph that is closed: ways out lead back to where they came in, so that every vertex is
// left as often as it is entered. Several functions are several parts without edges between them.
struct FlowGraph {
  struct Edge {
    uint32_t from, to;
  };
  // The count of `vertex` is the sum of those of `addends` (vertices of other parts; the parts are
  // not circular), or is told from outside if there are none.
  struct Known {
    uint32_t vertex;
    std::vector<uint32_t> addends;
  };

  uint32_t vertex_count = 0;
  std::vector<Edge> edges;
  std::vector<Known> known;
  std::vector<uint64_t> weights;  // by vertex: how much a counter there would cost
};

// count(vertex) = sum of plus - sum of minus.
struct FlowEquation {
  uint32_t vertex;
  std::vector<uint32_t> plus, minus;
};

struct FlowPlacement {
  std::vector<uint32_t> counted;  // ascending
  std::vector<FlowEquation>
      derived;  // each from vertices that are counted, told, or derived before
};

FlowPlacement place_minimal(const FlowGraph& graph);

// Groups of vertices whose counts add up to the same, in every closed flow.
struct FlowBalance {
  std::vector<uint32_t> inflow, outflow;
};
std::vector<FlowBalance> flow_balances(const FlowGraph& graph);

}  // namespace tally::spirv
