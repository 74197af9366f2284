#include "spirv/analysis/loops.h"

#include <gtest/gtest.h>

#include "spirv/testing/testing.h"

namespace tally::spirv {
namespace {

std::vector<bool> in_loops(const std::string& body) {
  const Module module = test::parsed(test::assemble(
      "OpCapability Shader\nOpMemoryModel Logical GLSL450\n"
      "OpEntryPoint GLCompute %main \"main\"\nOpExecutionMode %main LocalSize 1 1 1\n"
      "%void = OpTypeVoid\n%fn = OpTypeFunction %void\n%bool = OpTypeBool\n"
      "%true = OpConstantTrue %bool\n%main = OpFunction %void None %fn\n%start = OpLabel\n" +
      body + "OpFunctionEnd\n"));
  const auto cfg = Cfg::build(module, module.functions()[0]);
  if (!cfg) throw std::runtime_error(cfg.error().message);
  return blocks_in_loops(*cfg);
}

TEST(LoopConstructs, a_return_in_a_loop_is_part_of_it_and_the_merge_block_is_not) {
  EXPECT_EQ(in_loops("OpBranch %header\n"
                     "%header = OpLabel\nOpLoopMerge %after %next None\n"
                     "OpBranchConditional %true %leaves %next\n"
                     "%leaves = OpLabel\nOpReturn\n"
                     "%next = OpLabel\nOpBranchConditional %true %header %after\n"
                     "%after = OpLabel\nOpReturn\n"),
            (std::vector<bool>{false, true, true, true, false}));
}

TEST(LoopConstructs, a_loop_in_a_loop_is_part_of_the_outer_one_with_what_follows_it) {
  EXPECT_EQ(in_loops("OpBranch %outer\n"
                     "%outer = OpLabel\nOpLoopMerge %after %next None\nOpBranch %inner\n"
                     "%inner = OpLabel\nOpLoopMerge %behind %again None\n"
                     "OpBranchConditional %true %again %behind\n"
                     "%again = OpLabel\nOpBranch %inner\n"
                     "%behind = OpLabel\nOpBranchConditional %true %next %after\n"
                     "%next = OpLabel\nOpBranch %outer\n"
                     "%after = OpLabel\nOpReturn\n"),
            (std::vector<bool>{false, true, true, true, true, true, false}));
}

TEST(LoopConstructs, a_selection_is_none) {
  EXPECT_EQ(in_loops("OpSelectionMerge %after None\nOpBranchConditional %true %inside %after\n"
                     "%inside = OpLabel\nOpReturn\n%after = OpLabel\nOpReturn\n"),
            (std::vector<bool>{false, false, false}));
}

}  // namespace
}  // namespace tally::spirv
