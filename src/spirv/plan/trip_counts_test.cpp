#include "spirv/plan/trip_counts.h"

#include <gtest/gtest.h>

#include "spirv/testing/testing.h"

namespace tally::spirv {
namespace {

// Places in a loop of four blocks: start -> header -> body -> next -> header, header ->
// after.
struct LoopText {
  std::string variables = "%i = OpVariable %pointer Function\n";
  std::string start = "OpStore %i %zero\n";
  std::string header = "";
  std::string condition = "%more = OpULessThan %bool %five %five\n";
  std::string body = "OpBranch %next\n";
  std::string next = "%old = OpLoad %uint %i\n%new = OpIAdd %uint %old %one\nOpStore %i %new\n";
  std::string decorations = "";
};

std::vector<TripCount> trips_of(const LoopText& loop) {
  const auto module = test::parsed(test::assemble(
      "OpCapability Shader\nOpCapability DemoteToHelperInvocation\nOpMemoryModel Logical GLSL450\n"
      "OpEntryPoint Fragment %main \"main\"\nOpExecutionMode %main OriginUpperLeft\n" +
      loop.decorations +
      "%void = OpTypeVoid\n%fn = OpTypeFunction %void\n%bool = OpTypeBool\n%uint = OpTypeInt 32 0\n"
      "%pointer = OpTypePointer Function %uint\n%true = OpConstantTrue %bool\n"
      "%zero = OpConstant %uint 0\n%one = OpConstant %uint 1\n%two = OpConstant %uint 2\n"
      "%five = OpConstant %uint 5\n%twelve = OpConstant %uint 12\n"
      "%main = OpFunction %void None %fn\n%start = OpLabel\n" +
      loop.variables + loop.start + "OpBranch %header\n%header = OpLabel\n" + loop.header +
      loop.condition + "OpLoopMerge %after %next None\nOpBranchConditional %more %body %after\n" +
      "%body = OpLabel\n" + loop.body + "%next = OpLabel\n" + loop.next +
      "OpBranch %header\n%after = OpLabel\nOpReturn\nOpFunctionEnd\n"));
  const AnalyzedModule analyzed(module);
  const auto graph = SegmentGraph::build(analyzed, analyzed.module().entry_points()[0]);
  if (!graph) throw std::runtime_error(graph.error().message);
  return find_trip_counts(analyzed, *graph);
}

constexpr uint32_t kHeader = 1, kNext = 3, kAfter = 4;  // segments

TEST(TripCounts, a_variable_in_memory_counts_the_block_that_steps_it) {
  const auto trips = trips_of({});
  ASSERT_EQ(trips.size(), 1u);
  EXPECT_EQ(trips[0].segment, kNext);
  EXPECT_EQ(trips[0].behind, kAfter);
  EXPECT_TRUE(trips[0].in_memory);
  EXPECT_EQ(trips[0].inverse, 1u);
}

TEST(TripCounts, a_step_is_divided_by) {
  LoopText loop;
  loop.next = "%old = OpLoad %uint %i\n%new = OpISub %uint %old %five\nOpStore %i %new\n";
  const auto trips = trips_of(loop);
  ASSERT_EQ(trips.size(), 1u);
  EXPECT_TRUE(trips[0].descends);
  EXPECT_EQ(trips[0].inverse * 5, 1u);
}

TEST(TripCounts, a_phi_counts_the_header) {
  LoopText loop;
  loop.variables = loop.start = "";
  loop.header = "%i = OpPhi %uint %two %start %new %next\n";
  loop.next = "%new = OpIAdd %uint %five %i\n";
  const auto trips = trips_of(loop);
  ASSERT_EQ(trips.size(), 1u);
  EXPECT_EQ(trips[0].segment, kHeader);
  EXPECT_FALSE(trips[0].in_memory);
  EXPECT_EQ(trips[0].inverse * 5, 1u);
}

TEST(TripCounts, the_start_may_be_computed) {
  LoopText loop;
  loop.start = "%sum = OpIAdd %uint %one %five\nOpStore %i %sum\n";
  EXPECT_EQ(trips_of(loop).size(), 1u);
  loop.variables = "";
  loop.start = "%sum = OpIAdd %uint %one %five\n";
  loop.header = "%i = OpPhi %uint %sum %start %new %next\n";
  loop.next = "%new = OpIAdd %uint %one %i\n";
  EXPECT_EQ(trips_of(loop).size(), 1u);
}

TEST(TripCounts, an_even_step_is_divided_by_where_no_value_repeats) {
  LoopText loop;
  loop.condition = "%now = OpLoad %uint %i\n%more = OpULessThan %bool %now %five\n";
  loop.next = "%old = OpLoad %uint %i\n%new = OpIAdd %uint %old %twelve\nOpStore %i %new\n";
  const auto trips = trips_of(loop);
  ASSERT_EQ(trips.size(), 1u);
  EXPECT_EQ(trips[0].segment, kNext);
  EXPECT_EQ(trips[0].shift, 2u);
  EXPECT_EQ(trips[0].inverse * 3, 1u);

  LoopText phi;
  phi.variables = phi.start = "";
  phi.header = "%i = OpPhi %uint %two %start %new %next\n";
  phi.condition = "%more = OpULessThan %bool %i %five\n";
  phi.next = "%new = OpIAdd %uint %i %two\n";
  ASSERT_EQ(trips_of(phi).size(), 1u);
  EXPECT_EQ(trips_of(phi)[0].segment, kHeader);
  EXPECT_EQ(trips_of(phi)[0].shift, 1u);
}

TEST(TripCounts, nothing_is_told_by) {
  const auto expect_none = [](const char* what, auto&& change) {
    LoopText loop;
    change(loop);
    EXPECT_TRUE(trips_of(loop).empty()) << what;
  };
  expect_none("an even step of a value that is not tested", [](LoopText& loop) {
    loop.next = "%old = OpLoad %uint %i\n%new = OpIAdd %uint %old %two\nOpStore %i %new\n";
  });
  expect_none("a step of zero", [](LoopText& loop) {
    loop.next = "%old = OpLoad %uint %i\n%new = OpIAdd %uint %old %zero\nOpStore %i %new\n";
  });
  expect_none("a variable that is not set before", [](LoopText& loop) { loop.start = ""; });
  expect_none("one that is set to what is not defined",
              [](LoopText& loop) { loop.start = "%some = OpUndef %uint\nOpStore %i %some\n"; });
  expect_none("one that is set to a number of less precision", [](LoopText& loop) {
    loop.decorations = "OpDecorate %sum RelaxedPrecision\n";
    loop.start = "%sum = OpIAdd %uint %one %five\nOpStore %i %sum\n";
  });
  expect_none("one that is set elsewhere in the loop",
              [](LoopText& loop) { loop.body = "OpStore %i %one\n" + loop.body; });
  expect_none("one that is reached by another pointer", [](LoopText& loop) {
    loop.body = "%same = OpCopyObject %pointer %i\nOpStore %same %one\n" + loop.body;
  });
  expect_none("one that is set volatilely", [](LoopText& loop) {
    loop.next = "%old = OpLoad %uint %i Volatile\n%new = OpIAdd %uint %old %one\nOpStore %i %new\n";
  });
  expect_none("a sum with what was loaded in another block", [](LoopText& loop) {
    loop.start += "%old = OpLoad %uint %i\n";
    loop.next = "%new = OpIAdd %uint %old %one\nOpStore %i %new\n";
  });
  expect_none("numbers of less precision",
              [](LoopText& loop) { loop.decorations = "OpDecorate %new RelaxedPrecision\n"; });
  expect_none("a loop in which invocations become helpers",
              [](LoopText& loop) { loop.body = "OpDemoteToHelperInvocation\n" + loop.body; });
  expect_none("a loop in which they end", [](LoopText& loop) {
    loop.body =
        "OpSelectionMerge %rest None\nOpBranchConditional %true %dead %rest\n"
        "%dead = OpLabel\nOpKill\n%rest = OpLabel\n" +
        loop.body;
  });
}

TEST(TripCounts, a_count_in_a_branch_counts_the_branch) {
  LoopText loop;
  loop.variables += "%hits = OpVariable %pointer Function\n";
  loop.start += "OpStore %hits %five\n";
  loop.next = "";
  loop.body =
      "OpSelectionMerge %rest None\nOpBranchConditional %true %hit %rest\n"
      "%hit = OpLabel\n%n = OpLoad %uint %hits\n%m = OpIAdd %uint %n %one\nOpStore %hits %m\n"
      "OpBranch %rest\n%rest = OpLabel\n" +
      loop.body;
  const auto trips = trips_of(loop);
  ASSERT_EQ(trips.size(), 1u);
  EXPECT_EQ(trips[0].segment, 3u);
}

}  // namespace
}  // namespace tally::spirv
