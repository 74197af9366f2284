#include "spirv/plan/placement.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace tally::spirv {
namespace {

class DisjointSets {
 public:
  explicit DisjointSets(uint32_t count) : parents_(count) {
    std::iota(parents_.begin(), parents_.end(), 0u);
  }

  uint32_t find(uint32_t element) {
    while (parents_[element] != element) {
      parents_[element] = parents_[parents_[element]];
      element = parents_[element];
    }
    return element;
  }

  // False if they already were in the same set.
  bool unite(uint32_t a, uint32_t b) {
    a = find(a);
    b = find(b);
    if (a == b) return false;
    parents_[std::max(a, b)] = std::min(a, b);
    return true;
  }

 private:
  std::vector<uint32_t> parents_;
};

// The reduced graph: each vertex of the flow graph is an arc from in[v] to out[v].
struct ReducedGraph {
  explicit ReducedGraph(const FlowGraph& graph) : in(graph.vertex_count), out(graph.vertex_count) {
    DisjointSets halves(2 * graph.vertex_count);
    for (const auto& edge : graph.edges) halves.unite(2 * edge.from + 1, 2 * edge.to);
    std::vector<uint32_t> nodes(2 * graph.vertex_count, ~0u);
    const auto node_of = [&](uint32_t half) {
      uint32_t& node = nodes[halves.find(half)];
      if (node == ~0u) node = node_count++;
      return node;
    };
    for (uint32_t v = 0; v < graph.vertex_count; ++v) {
      in[v] = node_of(2 * v);
      out[v] = node_of(2 * v + 1);
    }
  }

  uint32_t node_count = 0;
  std::vector<uint32_t> in, out;
};

// The arcs of a maximum spanning forest. Arcs in `last` are taken only if no others connect a node.
std::vector<bool> spanning_forest(const ReducedGraph& reduced, const std::vector<uint64_t>& weights,
                                  const std::vector<bool>& last) {
  std::vector<uint32_t> order(reduced.in.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    if (last[a] != last[b]) return last[b];
    return weights[a] > weights[b];
  });
  DisjointSets nodes(reduced.node_count);
  std::vector<bool> in_tree(order.size());
  for (const uint32_t v : order) in_tree[v] = nodes.unite(reduced.in[v], reduced.out[v]);
  return in_tree;
}

// Derives the unknown counts: a node with one unknown arc determines it, a known sum its vertex.
class Solver {
 public:
  Solver(const FlowGraph& graph, const ReducedGraph& reduced)
      : graph_(graph),
        reduced_(reduced),
        arcs_(reduced.node_count),
        unknown_(reduced.node_count),
        solved_(graph.vertex_count),
        sums_of_(graph.vertex_count),
        missing_addends_(graph.known.size()) {
    for (uint32_t v = 0; v < graph.vertex_count; ++v) {
      if (reduced.in[v] == reduced.out[v]) continue;  // cancels out of its node's equation
      for (const uint32_t node : {reduced.in[v], reduced.out[v]}) {
        arcs_[node].push_back(v);
        ++unknown_[node];
      }
    }
    for (uint32_t k = 0; k < graph.known.size(); ++k) {
      missing_addends_[k] = static_cast<uint32_t>(graph.known[k].addends.size());
      for (const uint32_t v : graph.known[k].addends) sums_of_[v].push_back(k);
    }
  }

  void mark_solved(uint32_t vertex) {
    if (solved_[vertex]) return;
    solved_[vertex] = true;
    queue_.push_back(vertex);
  }

  std::vector<FlowEquation> run() {
    for (uint32_t node = 0; node < unknown_.size(); ++node) solve_node(node);
    while (!queue_.empty()) {
      const uint32_t vertex = queue_.back();
      queue_.pop_back();
      for (const uint32_t k : sums_of_[vertex]) {
        if (--missing_addends_[k] == 0) solve_sum(graph_.known[k]);
      }
      const uint32_t in = reduced_.in[vertex];
      const uint32_t out = reduced_.out[vertex];
      if (in == out) continue;
      --unknown_[in];
      --unknown_[out];
      solve_node(in);
      solve_node(out);
    }
    return std::move(equations_);
  }

 private:
  void solve_sum(const FlowGraph::Known& known) {
    if (solved_[known.vertex]) return;
    equations_.push_back({known.vertex, known.addends, {}, known.factor});
    mark_solved(known.vertex);
  }

  void solve_node(uint32_t node) {
    if (unknown_[node] != 1) return;
    const auto vertex = std::find_if(arcs_[node].begin(), arcs_[node].end(),
                                     [&](uint32_t v) { return !solved_[v]; });
    if (vertex == arcs_[node].end()) return;  // solved, and still in the queue
    FlowEquation equation{*vertex, {}, {}, 1};
    const bool leaves = reduced_.in[*vertex] == node;
    for (const uint32_t v : arcs_[node]) {
      if (v == *vertex) continue;
      const bool enters = reduced_.out[v] == node;
      (enters == leaves ? equation.plus : equation.minus).push_back(v);
    }
    equations_.push_back(std::move(equation));
    mark_solved(*vertex);
  }

  const FlowGraph& graph_;
  const ReducedGraph& reduced_;
  std::vector<std::vector<uint32_t>> arcs_;  // by node
  std::vector<uint32_t> unknown_;            // by node: arcs not solved, or solved but still queued
  std::vector<bool> solved_;
  std::vector<std::vector<uint32_t>> sums_of_;  // by vertex: the sums that it is an addend of
  std::vector<uint32_t> missing_addends_;
  std::vector<uint32_t> queue_;
  std::vector<FlowEquation> equations_;
};

}  // namespace

FlowPlacement place_minimal(const FlowGraph& graph) {
  const ReducedGraph reduced(graph);
  std::vector<bool> known(graph.vertex_count);
  for (const auto& k : graph.known) known[k.vertex] = true;
  const std::vector<bool> in_tree = spanning_forest(reduced, graph.weights, known);

  FlowPlacement placement;
  Solver solver(graph, reduced);
  for (uint32_t v = 0; v < graph.vertex_count; ++v) {
    if (in_tree[v] || known[v]) continue;
    placement.counted.push_back(v);
    solver.mark_solved(v);
  }
  for (const auto& k : graph.known) {
    if (k.addends.empty()) solver.mark_solved(k.vertex);
  }
  placement.derived = solver.run();
  return placement;
}

std::vector<FlowBalance> flow_balances(const FlowGraph& graph) {
  const ReducedGraph reduced(graph);
  std::vector<FlowBalance> balances(reduced.node_count);
  for (uint32_t v = 0; v < graph.vertex_count; ++v) {
    balances[reduced.out[v]].inflow.push_back(v);
    balances[reduced.in[v]].outflow.push_back(v);
  }
  return balances;
}

}  // namespace tally::spirv
