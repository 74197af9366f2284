#include "spirv/plan/counter_placement.h"

#include <gtest/gtest.h>

#include "spirv/testing/instrumented.h"

namespace tally::spirv {
namespace {

using test::assemble_1_3;
using test::header;
using test::kCompute;
using test::kTypes;

// Blocks: start, header, body, next, after; the loop runs its body five times.
std::string loop_of_five(const std::string& body) {
  return "%uint = OpTypeInt 32 0\n%zero = OpConstant %uint 0\n%one = OpConstant %uint 1\n"
         "%five = OpConstant %uint 5\n%main = OpFunction %void None %fn\n%start = OpLabel\n"
         "%x = OpUndef %bool\nOpBranch %header\n%header = OpLabel\n"
         "%i = OpPhi %uint %zero %start %new %next\n%more = OpULessThan %bool %i %five\n"
         "OpLoopMerge %after %next None\nOpBranchConditional %more %body %after\n"
         "%body = OpLabel\n" +
         body +
         "%next = OpLabel\n%new = OpIAdd %uint %i %one\nOpBranch %header\n"
         "%after = OpLabel\nOpReturn\nOpFunctionEnd\n";
}

CounterPlan plan_of_loop(const std::string& body) {
  const std::string text = header(kCompute) + kTypes + loop_of_five(body);
  return test::instrument(assemble_1_3(text), test::compute_options()).plan;
}

using Counts = std::vector<uint64_t>;

TEST(CounterPlacement, a_loop_of_a_constant_number_of_iterations_needs_no_counter) {
  const CounterPlan plan = plan_of_loop("OpBranch %next\n");
  EXPECT_EQ(plan.counter_count, 1u);
  EXPECT_EQ(derive(plan, Counts{7}).executions, (Counts{7, 42, 35, 35, 7}));
}

TEST(CounterPlacement, a_branch_in_such_a_loop_needs_one) {
  const CounterPlan plan = plan_of_loop(
      "OpSelectionMerge %end None\nOpBranchConditional %x %some %end\n"
      "%some = OpLabel\nOpBranch %end\n%end = OpLabel\nOpBranch %next\n");
  EXPECT_EQ(plan.counter_count, 2u);
  EXPECT_EQ(derive(plan, Counts{7, 11}).executions, (Counts{7, 42, 35, 11, 35, 35, 7}));
}

TEST(CounterPlacement, a_loop_that_may_return_early_is_counted) {
  const CounterPlan plan = plan_of_loop(
      "OpSelectionMerge %stays None\nOpBranchConditional %x %leaves %stays\n"
      "%leaves = OpLabel\nOpReturn\n%stays = OpLabel\nOpBranch %next\n");
  EXPECT_EQ(plan.counter_count, 3u);
}

// Blocks: start, header, body, some, end, next, after. The loop runs its body %limit times, and
// %some in it if %limit is 3.
const std::string kSpecialized =
    "OpDecorate %limit SpecId 0\n" + kTypes +
    "%uint = OpTypeInt 32 0\n%zero = OpConstant %uint 0\n%one = OpConstant %uint 1\n"
    "%three = OpConstant %uint 3\n%limit = OpSpecConstant %uint 5\n"
    "%main = OpFunction %void None %fn\n%start = OpLabel\n"
    "%is = OpIEqual %bool %limit %three\nOpBranch %header\n%header = OpLabel\n"
    "%i = OpPhi %uint %zero %start %new %next\n%more = OpULessThan %bool %i %limit\n"
    "OpLoopMerge %after %next None\nOpBranchConditional %more %body %after\n"
    "%body = OpLabel\nOpSelectionMerge %end None\nOpBranchConditional %is %some %end\n"
    "%some = OpLabel\nOpBranch %end\n%end = OpLabel\nOpBranch %next\n"
    "%next = OpLabel\n%new = OpIAdd %uint %i %one\nOpBranch %header\n"
    "%after = OpLabel\nOpReturn\nOpFunctionEnd\n";

TEST(CounterPlacement, what_follows_from_the_constants_of_a_pipeline_needs_no_counter) {
  const Module module = test::parsed(assemble_1_3(header(kCompute) + kSpecialized));
  BlockCountOptions options = test::compute_options();
  options.count_branches = true;
  const auto plan_of = [&](const Module& of) {
    return add_block_counts(AnalyzedModule(of), options).value().plan;
  };
  EXPECT_EQ(plan_of(module).counter_count, 3u);
  const CounterPlan five = plan_of(module.fixed({})), three = plan_of(module.fixed({{0, 4, 3}}));
  EXPECT_EQ(five.counter_count, 1u);
  EXPECT_EQ(derive(five, Counts{7}).executions, (Counts{7, 42, 35, 0, 35, 35, 7}));
  EXPECT_EQ(three.counter_count, 1u);
  const BlockCounts counts = derive(three, Counts{7});
  EXPECT_EQ(counts.executions, (Counts{7, 28, 21, 21, 21, 21, 7}));
  for (const BlockCounts::Taken& taken : counts.branches) {
    const uint64_t expected = taken.block == 1 ? (taken.target == 0 ? 21 : 7) : 21;
    EXPECT_EQ(taken.times, expected) << taken.block << " " << taken.target;
  }
}

}  // namespace
}  // namespace tally::spirv
