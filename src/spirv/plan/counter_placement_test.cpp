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
  EXPECT_EQ(plan.derive(Counts{7}).executions, (Counts{7, 42, 35, 35, 7}));
}

TEST(CounterPlacement, a_branch_in_such_a_loop_needs_one) {
  const CounterPlan plan = plan_of_loop(
      "OpSelectionMerge %end None\nOpBranchConditional %x %some %end\n"
      "%some = OpLabel\nOpBranch %end\n%end = OpLabel\nOpBranch %next\n");
  EXPECT_EQ(plan.counter_count, 2u);
  EXPECT_EQ(plan.derive(Counts{7, 11}).executions, (Counts{7, 42, 35, 11, 35, 35, 7}));
}

TEST(CounterPlacement, a_loop_that_may_return_early_is_counted) {
  const CounterPlan plan = plan_of_loop(
      "OpSelectionMerge %stays None\nOpBranchConditional %x %leaves %stays\n"
      "%leaves = OpLabel\nOpReturn\n%stays = OpLabel\nOpBranch %next\n");
  EXPECT_EQ(plan.counter_count, 3u);
}

}  // namespace
}  // namespace tally::spirv
