#include "spirv/analysis/loops.h"

#include <gtest/gtest.h>

namespace tally::spirv {
namespace {

using Depths = std::vector<uint32_t>;

// How many loops each vertex is in.
Depths loop_depths(const std::vector<std::vector<uint32_t>>& successors, uint32_t entry) {
  Depths depths(successors.size());
  for (const Loop& loop : find_loops(successors, entry)) {
    for (const uint32_t v : loop.vertices) ++depths[v];
  }
  return depths;
}

TEST(Loops, an_irreducible_loop_has_other_entries) {
  const auto loops = find_loops({{1, 2}, {2}, {1, 3}, {}}, 0);
  ASSERT_EQ(loops.size(), 1u);
  EXPECT_TRUE(loops[0].has_other_entries);
  EXPECT_FALSE(find_loops({{1}, {2}, {1, 3}, {}}, 0)[0].has_other_entries);
}

TEST(LoopDepth, a_graph_without_cycles_has_no_loop) {
  EXPECT_EQ(loop_depths({{1, 2}, {3}, {3}, {}}, 0), (Depths{0, 0, 0, 0}));
}

TEST(LoopDepth, nested_loops_add_up) {
  // 0 -> 1 (outer header) -> 2 (inner header) -> 3 -> 2, 2 -> 4 -> 1, 1 -> 5
  EXPECT_EQ(loop_depths({{1}, {2, 5}, {3, 4}, {2}, {1}, {}}, 0), (Depths{0, 1, 2, 2, 1, 0}));
}

TEST(LoopDepth, what_leaves_a_loop_for_good_is_outside_of_it) {
  // 1 -> 2 -> {3: return, 1}
  EXPECT_EQ(loop_depths({{1}, {2, 4}, {3, 1}, {}, {}}, 0), (Depths{0, 1, 1, 0, 0}));
}

TEST(LoopDepth, a_vertex_may_loop_to_itself) {
  EXPECT_EQ(loop_depths({{1}, {1, 2}, {}}, 0), (Depths{0, 1, 0}));
}

TEST(LoopDepth, loops_side_by_side_stay_apart) {
  EXPECT_EQ(loop_depths({{1}, {2}, {1, 3}, {4}, {3, 5}, {}}, 0), (Depths{0, 1, 1, 1, 1, 0}));
}

TEST(LoopDepth, very_deep_nests_are_cut_off) {
  // A ladder: every vertex leads to the next, and back to all before.
  std::vector<std::vector<uint32_t>> successors(300);
  for (uint32_t v = 0; v + 1 < 300; ++v) successors[v].push_back(v + 1);
  for (uint32_t v = 1; v < 299; ++v) successors[299 - 1].push_back(v);
  const Depths depths = loop_depths(successors, 0);
  EXPECT_EQ(depths[0], 0u);
  EXPECT_EQ(depths[299], 0u);
  EXPECT_EQ(*std::max_element(depths.begin(), depths.end()), kMaxLoopDepth);
}

TEST(LoopDepth, a_long_chain_needs_no_deep_stack) {
  std::vector<std::vector<uint32_t>> successors(200000);
  for (uint32_t v = 0; v + 1 < successors.size(); ++v) successors[v].push_back(v + 1);
  successors.back().push_back(1);
  const Depths depths = loop_depths(successors, 0);
  EXPECT_EQ(depths[0], 0u);
  EXPECT_EQ(depths[1], 1u);
  EXPECT_EQ(depths.back(), 1u);
}

}  // namespace
}  // namespace tally::spirv
