#include "spirv/plan/placement.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace tally::spirv {
namespace {

constexpr uint32_t kSeeds = 400;

// A random program: functions made of vertices, vertices that call functions with a higher number,
// and killing vertices that end all functions at once.
class Program {
 public:
  explicit Program(uint32_t seed) : random_(seed) {
    const uint32_t functions = 1 + pick(5);
    for (uint32_t f = 0; f < functions; ++f) add_function();
    for (uint32_t f = functions; f-- > 0;) add_calls(f);
    for (uint32_t f = 1; f < functions; ++f) graph_.known.push_back({entries_[f], sites_of(f)});
    for (uint32_t v = 0; v < graph_.vertex_count; ++v) graph_.weights.push_back(pick(100));
  }

  FlowGraph& graph() { return graph_; }
  uint32_t main_entry() const { return entries_[0]; }

  std::vector<uint64_t> walk(uint32_t invocations) {
    counts_.assign(graph_.vertex_count, 0);
    for (uint32_t i = 0; i < invocations; ++i) {
      budget_ = 3000;
      walk_function(0);
    }
    return counts_;
  }

 private:
  struct Vertex {
    std::vector<uint32_t> next;
    std::vector<uint32_t> calls;
    bool returns = false;
    bool kills = false;
    uint32_t towards_exit = ~0u;  // the edge towards the exit, for walks that have become long
  };

  uint32_t pick(uint32_t below) { return static_cast<uint32_t>(random_() % below); }

  void add_edge(uint32_t from, uint32_t to) {
    vertices_[from].next.push_back(to);
    graph_.edges.push_back({from, to});
  }

  // A chain from entry to return keeps everything connected; further edges go anywhere but to the
  // entry, which nothing may branch to.
  void add_function() {
    const uint32_t first = graph_.vertex_count;
    const uint32_t count = 1 + pick(14);
    entries_.push_back(first);
    graph_.vertex_count += count;
    vertices_.resize(graph_.vertex_count);
    may_kill_.push_back(false);
    for (uint32_t v = first; v + 1 < graph_.vertex_count; ++v) {
      if (v > first && pick(10) == 0) {
        vertices_[v].kills = true;
        may_kill_.back() = true;
        graph_.edges.push_back({v, first});
        add_edge(v - 1, v + 1);
        vertices_[v - 1].towards_exit = v + 1;
        vertices_[v].towards_exit = v + 1;
        continue;
      }
      add_edge(v, v + 1);
      vertices_[v].towards_exit = v + 1;
      for (uint32_t extra = pick(3); extra > 0 && count > 1; --extra) {
        add_edge(v, first + 1 + pick(count - 1));
      }
    }
    vertices_.back().returns = true;
    graph_.edges.push_back({graph_.vertex_count - 1, first});
  }

  uint32_t end_of(uint32_t f) const {
    return f + 1 < entries_.size() ? entries_[f + 1] : graph_.vertex_count;
  }

  void add_calls(uint32_t f) {
    const auto functions = static_cast<uint32_t>(entries_.size());
    for (uint32_t v = entries_[f]; v < end_of(f); ++v) {
      if (f + 1 == functions || pick(3) != 0) continue;
      // One call a vertex that may end in a kill, as segments have it.
      const uint32_t callee = f + 1 + pick(functions - f - 1);
      vertices_[v].calls.push_back(callee);
      if (!may_kill_[callee]) {
        if (pick(2) == 0) vertices_[v].calls.push_back(callee);
        continue;
      }
      may_kill_[f] = true;
      graph_.edges.push_back({v, entries_[f]});
    }
  }

  std::vector<uint32_t> sites_of(uint32_t f) const {
    std::vector<uint32_t> sites;
    for (uint32_t v = 0; v < graph_.vertex_count; ++v) {
      for (const uint32_t callee : vertices_[v].calls) {
        if (callee == f) sites.push_back(v);
      }
    }
    return sites;
  }

  bool walk_function(uint32_t f) {
    for (uint32_t v = entries_[f];;) {
      ++counts_[v];
      const Vertex& vertex = vertices_[v];
      for (const uint32_t callee : vertex.calls) {
        if (!walk_function(callee)) return false;
      }
      if (vertex.kills) return false;
      if (vertex.returns) return true;
      if (budget_ > 0) {
        --budget_;
        v = vertex.next[pick(static_cast<uint32_t>(vertex.next.size()))];
      } else {
        v = vertex.towards_exit;
      }
    }
  }

  std::mt19937 random_;
  FlowGraph graph_;
  std::vector<Vertex> vertices_;
  std::vector<uint32_t> entries_;
  std::vector<bool> may_kill_;
  std::vector<uint64_t> counts_;
  uint32_t budget_ = 0;
};

std::vector<uint64_t> derive(const FlowPlacement& placement, const std::vector<uint64_t>& truth,
                             const FlowGraph& graph) {
  std::vector<uint64_t> counts(truth.size(), 0xdeadbeef);
  for (const uint32_t v : placement.counted) counts[v] = truth[v];
  for (const auto& known : graph.known) {
    if (known.addends.empty()) counts[known.vertex] = truth[known.vertex];
  }
  for (const auto& equation : placement.derived) {
    uint64_t count = 0;
    for (const uint32_t v : equation.plus) count += counts[v];
    for (const uint32_t v : equation.minus) count -= counts[v];
    counts[equation.vertex] = equation.factor * count;
  }
  return counts;
}

// Rank of all that is known of the counts, modulo a prime; what it leaves open must be counted.
uint32_t rank_of_equations(const FlowGraph& graph) {
  constexpr int64_t kPrime = 1'000'003;
  std::vector<std::vector<int64_t>> rows;
  for (const auto& balance : flow_balances(graph)) {
    auto& row = rows.emplace_back(graph.vertex_count);
    for (const uint32_t v : balance.inflow) row[v] += 1;
    for (const uint32_t v : balance.outflow) row[v] -= 1;
  }
  for (const auto& known : graph.known) {
    auto& row = rows.emplace_back(graph.vertex_count);
    row[known.vertex] += 1;
    for (const uint32_t v : known.addends) row[v] -= known.factor;
  }
  const auto inverse = [](int64_t value) {
    int64_t result = 1;
    for (int64_t exponent = kPrime - 2; exponent > 0; exponent >>= 1) {
      if (exponent & 1) result = result * value % kPrime;
      value = value * value % kPrime;
    }
    return result;
  };
  uint32_t rank = 0;
  for (uint32_t column = 0; column < graph.vertex_count && rank < rows.size(); ++column) {
    const auto pivot = std::find_if(rows.begin() + rank, rows.end(),
                                    [&](const auto& row) { return row[column] % kPrime != 0; });
    if (pivot == rows.end()) continue;
    std::swap(*pivot, rows[rank]);
    const int64_t scale = inverse((rows[rank][column] % kPrime + kPrime) % kPrime);
    for (uint32_t r = rank + 1; r < rows.size(); ++r) {
      const int64_t factor = rows[r][column] % kPrime * scale % kPrime;
      if (factor == 0) continue;
      for (uint32_t c = 0; c < graph.vertex_count; ++c) {
        rows[r][c] = (rows[r][c] - factor * rows[rank][c]) % kPrime;
      }
    }
    ++rank;
  }
  return rank;
}

TEST(Placement, all_counts_follow_from_the_counted_ones) {
  for (uint32_t seed = 0; seed < kSeeds; ++seed) {
    Program program(seed);
    const FlowPlacement placement = place_minimal(program.graph());
    const std::vector<uint64_t> truth = program.walk(50);
    ASSERT_EQ(derive(placement, truth, program.graph()), truth) << "seed " << seed;
  }
}

TEST(Placement, all_counts_follow_when_the_invocations_are_told) {
  for (uint32_t seed = 0; seed < kSeeds; ++seed) {
    Program program(seed);
    const size_t counted = place_minimal(program.graph()).counted.size();
    program.graph().known.push_back({program.main_entry(), {}});
    const FlowPlacement placement = place_minimal(program.graph());
    EXPECT_EQ(placement.counted.size() + 1, counted) << "seed " << seed;
    const std::vector<uint64_t> truth = program.walk(50);
    ASSERT_EQ(derive(placement, truth, program.graph()), truth) << "seed " << seed;
  }
}

TEST(Placement, no_fewer_counters_would_do) {
  for (uint32_t seed = 0; seed < kSeeds; ++seed) {
    Program program(seed);
    const FlowPlacement placement = place_minimal(program.graph());
    const uint32_t rank = rank_of_equations(program.graph());
    ASSERT_EQ(placement.counted.size() + rank, program.graph().vertex_count) << "seed " << seed;
  }
}

TEST(Placement, flow_is_conserved_in_every_walk) {
  for (uint32_t seed = 0; seed < kSeeds; ++seed) {
    Program program(seed);
    const std::vector<uint64_t> truth = program.walk(20);
    for (const auto& balance : flow_balances(program.graph())) {
      uint64_t difference = 0;
      for (const uint32_t v : balance.inflow) difference += truth[v];
      for (const uint32_t v : balance.outflow) difference -= truth[v];
      ASSERT_EQ(difference, 0u) << "seed " << seed;
    }
  }
}

TEST(Placement, the_cheaper_side_of_a_branch_is_counted) {
  // 0 -> {1, 2} -> 3 -> 0: one of 0 and 3, and one of 1 and 2.
  FlowGraph graph{4, {{0, 1}, {0, 2}, {1, 3}, {2, 3}, {3, 0}}, {}, {5, 9, 1, 7}};
  EXPECT_EQ(place_minimal(graph).counted, (std::vector<uint32_t>{0, 2}));
  graph.weights = {5, 1, 9, 4};
  EXPECT_EQ(place_minimal(graph).counted, (std::vector<uint32_t>{1, 3}));
}

TEST(Placement, a_block_that_loops_to_itself_is_counted) {
  const FlowGraph graph{3, {{0, 1}, {1, 1}, {1, 2}, {2, 0}}, {}, {1, 1000, 1}};
  EXPECT_EQ(place_minimal(graph).counted, (std::vector<uint32_t>{1, 2}));
}

TEST(Placement, an_empty_graph_needs_nothing) {
  const FlowPlacement placement = place_minimal(FlowGraph{});
  EXPECT_TRUE(placement.counted.empty());
  EXPECT_TRUE(placement.derived.empty());
}

TEST(Placement, a_multiple_of_another_count_needs_no_counter) {
  // 0 -> 3 -> 0, and by themselves 1 (a header) -> 2 -> 1.
  const FlowGraph graph{.vertex_count = 4,
                        .edges = {{0, 3}, {3, 0}, {1, 1}, {1, 2}, {2, 1}},
                        .known = {{0, {}}, {1, {0}, 6}, {2, {0}, 5}},
                        .weights = {1, 8, 8, 1}};
  const FlowPlacement placement = place_minimal(graph);
  EXPECT_TRUE(placement.counted.empty());
  const std::vector<uint64_t> truth{10, 60, 50, 10};
  EXPECT_EQ(derive(placement, truth, graph), truth);
}

}  // namespace
}  // namespace tally::spirv
