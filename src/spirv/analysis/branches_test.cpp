#include "spirv/analysis/block_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "spirv/testing/testing.h"

namespace tally::spirv {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// The branches of %main with this body, whose file is %file.
std::vector<Branch> branches(const std::string& body) {
  const Module module = test::parsed(test::assemble(
      R"(OpCapability Shader
      OpCapability Int64
      OpMemoryModel Logical GLSL450
      OpEntryPoint GLCompute %main "main"
      OpExecutionMode %main LocalSize 1 1 1
      %file = OpString "a.comp"
      %void = OpTypeVoid
      %bool = OpTypeBool
      %i32 = OpTypeInt 32 1
      %u64 = OpTypeInt 64 0
      %yes = OpConstantTrue %bool
      %one = OpConstant %i32 1
      %wide = OpConstant %u64 1
      %function = OpTypeFunction %void
      %main = OpFunction %void None %function
      )" +
      body + "\nOpFunctionEnd"));
  const auto map = BlockMap::build(module, spv::ExecutionModel::GLCompute, "main");
  if (!map) throw std::runtime_error(map.error().message);
  return branches_of(module, *map);
}

std::vector<std::string> labels(const Branch& branch) {
  std::vector<std::string> labels;
  for (const BranchTarget& target : branch.targets) labels.push_back(target.label);
  return labels;
}

TEST(Branches, a_condition_is_first_true_then_false_and_has_the_line_of_the_branch) {
  const auto found = branches(R"(
    %a = OpLabel
    OpLine %file 7 1
    OpSelectionMerge %c None
    OpBranchConditional %yes %b %c
    %b = OpLabel
    OpBranch %c
    %c = OpLabel
    OpReturn)");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].block, 0u);
  EXPECT_FALSE(found[0].is_switch);
  EXPECT_EQ(found[0].location->line, 7u);
  EXPECT_THAT(labels(found[0]), ElementsAre("true", "false"));
  EXPECT_EQ(found[0].targets[0].block, 1u);
  EXPECT_TRUE(found[0].targets[0].sole_entry);
  EXPECT_EQ(found[0].targets[1].block, 2u);
  EXPECT_FALSE(found[0].targets[1].sole_entry);
}

TEST(Branches, cases_that_lead_to_one_block_are_one_target) {
  const auto found = branches(R"(
    %a = OpLabel
    OpSelectionMerge %d None
    OpSwitch %one %d -1 %b 2 %c 3 %b 4 %d
    %b = OpLabel
    OpBranch %d
    %c = OpLabel
    OpBranch %d
    %d = OpLabel
    OpReturn)");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_TRUE(found[0].is_switch);
  EXPECT_THAT(labels(found[0]), ElementsAre("default, case 4", "case -1, 3", "case 2"));
}

TEST(Branches, a_case_may_have_64_bits) {
  const auto found = branches(R"(
    %a = OpLabel
    OpSelectionMerge %c None
    OpSwitch %wide %c 18446744073709551615 %b
    %b = OpLabel
    OpBranch %c
    %c = OpLabel
    OpReturn)");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_THAT(labels(found[0]), ElementsAre("default", "case 18446744073709551615"));
}

TEST(Branches, blocks_with_one_target_and_blocks_that_cannot_run_have_none) {
  EXPECT_THAT(branches(R"(
    %a = OpLabel
    OpSelectionMerge %b None
    OpBranchConditional %yes %b %b
    %b = OpLabel
    OpReturn
    %dead = OpLabel
    OpSelectionMerge %d None
    OpBranchConditional %yes %c %d
    %c = OpLabel
    OpBranch %d
    %d = OpLabel
    OpReturn)"),
              IsEmpty());
}

}  // namespace
}  // namespace tally::spirv
