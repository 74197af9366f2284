// Demotions that wait until the invocation has written its counts.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "spirv/testing/instrumented.h"

namespace tally::spirv {
namespace {

using test::count_of;
using test::fragment_options;
using test::instrumented;
using test::kTypes;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

struct Shader {
  std::string capabilities, interface, decorations, globals;
  std::string before;  // code before the demotion
  std::string after;   // ... and behind the branch with the demotion

  std::string text() const {
    return "OpCapability Shader\nOpCapability DemoteToHelperInvocation\n"
           "OpCapability GroupNonUniformVote\n" +
           capabilities +
           "OpExtension \"SPV_EXT_demote_to_helper_invocation\"\nOpMemoryModel Logical GLSL450\n"
           "OpEntryPoint Fragment %main \"main\"" +
           interface + "\nOpExecutionMode %main OriginUpperLeft\n" + decorations + kTypes +
           globals + "%main = OpFunction %void None %fn\n%start = OpLabel\n" + before +
           "OpSelectionMerge %rest None\nOpBranchConditional %true %fades %rest\n"
           "%fades = OpLabel\nOpDemoteToHelperInvocation\nOpBranch %rest\n"
           "%rest = OpLabel\n" +
           after + "OpReturn\nOpFunctionEnd\n";
  }
};

const std::string kUint = "%uint = OpTypeInt 32 0\n%zero = OpConstant %uint 0\n";

void expect_early(const Shader& shader, const BlockCountOptions& options = fragment_options()) {
  const std::string text = instrumented(shader.text(), options);
  EXPECT_THAT(text, HasSubstr("OpDemoteToHelperInvocation")) << text;
  EXPECT_THAT(text, Not(HasSubstr("tally_demoted"))) << text;
}

TEST(LateDemotions, a_demotion_waits_until_all_lanes_have_written_their_counts) {
  const std::string text = instrumented(Shader().text(), fragment_options());
  EXPECT_THAT(text, Not(HasSubstr("OpDemoteToHelperInvocation\n")));
  EXPECT_EQ(count_of(text, "OpStore %tally_demoted %true"), 1u) << text;
  EXPECT_EQ(count_of(text, "OpFunctionCall %void %tally_flush"), 1u);
  EXPECT_THAT(text, ContainsRegex("OpFunctionCall %void %tally_flush\n[^=]*= OpLoad %bool "
                                  "%tally_demoted\n[^K]*OpKill"));
  // Lanes that only noted their demotion count.
  EXPECT_THAT(text, HasSubstr("BuiltIn HelperInvocation"));
  EXPECT_THAT(text, Not(HasSubstr("OpIsHelperInvocationEXT")));
}

TEST(LateDemotions, a_demoted_invocation_counts_nothing_more) {
  BlockCountOptions options = fragment_options();
  options.placement = Placement::Every;
  const std::string text = instrumented(Shader().text(), options);
  EXPECT_EQ(count_of(text, "OpLoad %bool %tally_demoted"), 3u) << text;  // two counts, the end
}

TEST(LateDemotions, a_driver_that_drops_overdraw_sees_one_discard) {
  BlockCountOptions options = fragment_options();
  options.driver.drops_overdraw = true;
  options.driver.prefers_small_code = true;
  const std::string text = instrumented(Shader().text(), options);
  EXPECT_EQ(count_of(text, "OpKill"), 1u) << text;
  EXPECT_THAT(text, HasSubstr("OpLogicalOr %bool"));
}

TEST(LateDemotions, demotions_stay_where_the_shader_could_tell) {
  Shader asks;
  asks.after = "%h = OpIsHelperInvocationEXT %bool\n";
  expect_early(asks);
  Shader reads;
  reads.interface = " %helper";
  reads.decorations = "OpDecorate %helper BuiltIn HelperInvocation\n";
  reads.globals = "%p = OpTypePointer Input %bool\n%helper = OpVariable %p Input\n";
  expect_early(reads);
  Shader votes;
  votes.globals = "%uint = OpTypeInt 32 0\n%subgroup = OpConstant %uint 3\n";
  votes.after = "%v = OpGroupNonUniformAny %bool %subgroup %true\n";
  expect_early(votes);
  Shader writes;
  writes.decorations =
      "OpDecorate %block Block\nOpMemberDecorate %block 0 Offset 0\n"
      "OpDecorate %buffer DescriptorSet 0\nOpDecorate %buffer Binding 0\n";
  writes.globals = kUint +
                   "%block = OpTypeStruct %uint\n%pointer = OpTypePointer StorageBuffer %block\n"
                   "%member = OpTypePointer StorageBuffer %uint\n"
                   "%buffer = OpVariable %pointer StorageBuffer\n";
  writes.after = "%at = OpAccessChain %member %buffer %zero\nOpStore %at %zero\n";
  expect_early(writes);
}

TEST(LateDemotions, demotions_stay_where_only_helpers_may_go_on) {
  Shader points;
  points.capabilities = "OpCapability PhysicalStorageBufferAddresses\n";
  expect_early(points);
  Shader ends;
  ends.after =
      "OpSelectionMerge %back None\nOpBranchConditional %true %back %never\n"
      "%never = OpLabel\nOpUnreachable\n%back = OpLabel\n";
  expect_early(ends);
}

TEST(LateDemotions, demotions_stay_where_code_after_them_takes_long) {
  Shader loops;
  loops.after =
      "OpBranch %header\n%header = OpLabel\nOpLoopMerge %done %next None\n"
      "OpBranchConditional %true %next %done\n%next = OpLabel\nOpBranch %header\n"
      "%done = OpLabel\n";
  expect_early(loops);
  Shader is_long;
  is_long.globals = kUint;
  for (int i = 0; i < 100; ++i) {
    is_long.after += "%s" + std::to_string(i) + " = OpIAdd %uint %zero %zero\n";
  }
  expect_early(is_long);
}

TEST(LateDemotions, demotions_stay_where_other_counts_need_the_lanes_that_remain) {
  BlockCountOptions options = fragment_options();
  options.count_subgroups = true;
  expect_early(Shader(), options);
  options = fragment_options();
  options.counting = Counting::Lane;
  expect_early(Shader(), options);
}

}  // namespace
}  // namespace tally::spirv
