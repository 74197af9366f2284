// Counting in fragment shaders: helper invocations, exits other than returns, early tests.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "spirv/testing/instrumented.h"

namespace tally::spirv {
namespace {

using test::assemble_1_3;
using test::count_of;
using test::fragment_options;
using test::header;
using test::instrument;
using test::instrumented;
using test::kTypes;
using test::parsed;
using test::readable;
using testing::HasSubstr;
using testing::Not;

// A fragment shader: `body` between its first label and its return.
std::string fragment(const std::string& body, const std::string& capabilities = "",
                     const std::string& modes = "", const std::string& interface = "",
                     const std::string& globals = "", const std::string& decorations = "") {
  return header("OpEntryPoint Fragment %main \"main\"" + interface +
                    "\nOpExecutionMode %main OriginUpperLeft\n" + modes,
                capabilities) +
         decorations + kTypes + globals + "%main = OpFunction %void None %fn\n%start = OpLabel\n" +
         body + "OpFunctionEnd\n";
}

TEST(FragmentCount, short_code_elects_a_lane_where_branches_are_masked) {
  BlockCountOptions options = fragment_options();
  options.driver.prefers_small_code = options.driver.keeps_draws_apart = true;
  const std::string text = instrumented(fragment("OpReturn\n"), options);
  EXPECT_EQ(count_of(text, "OpGroupNonUniformBroadcastFirst"), 1u);
  EXPECT_EQ(count_of(text, "OpGroupNonUniformElect"), 0u);
  options.driver.masks_branches = true;
  const std::string masked = instrumented(fragment("OpReturn\n"), options);
  EXPECT_EQ(count_of(masked, "OpGroupNonUniformBroadcastFirst"), 0u);
  EXPECT_EQ(count_of(masked, "OpGroupNonUniformElect"), 1u);
}

// A function that is called three times has a condition, so that is counted at most three times.
TEST(FragmentCount, short_code_sums_small_numbers_together) {
  BlockCountOptions options = fragment_options();
  options.driver.prefers_small_code = options.driver.keeps_draws_apart = true;
  options.subgroup_operations = options.int64 = options.int64_atomics = true;
  const std::string function =
      "%f = OpFunction %void None %fn\n%first = OpLabel\n%x = OpUndef %bool\n"
      "OpSelectionMerge %merge None\nOpBranchConditional %x %inside %merge\n"
      "%inside = OpLabel\nOpBranch %merge\n%merge = OpLabel\nOpReturn\nOpFunctionEnd\n";
  const auto code_of = [&](size_t calls) {
    std::string body;
    for (size_t i = 0; i < calls; ++i) {
      body += "%call" + std::to_string(i) + " = OpFunctionCall %void %f\n";
    }
    return instrumented(fragment(body + "OpReturn\n") + function, options);
  };
  const std::string text = code_of(3), large = code_of(32);
  EXPECT_EQ(count_of(text, "OpGroupNonUniformIAdd"), 1u);
  EXPECT_EQ(count_of(text, "OpAtomicIAdd %ulong"), 2u);
  // The number joins the word. 8 lanes with 32 each do not fit into a byte: each adds its own.
  EXPECT_EQ(count_of(text, "OpShiftLeftLogical"), count_of(large, "OpShiftLeftLogical") + 1);
}

TEST(FragmentCount, helpers_are_asked_for_in_fragment_shaders) {
  const std::string text = instrumented(fragment("OpReturn\n"), fragment_options());
  EXPECT_THAT(text, HasSubstr("BuiltIn HelperInvocation"));
  EXPECT_THAT(text, testing::ContainsRegex("OpLogicalNot %bool %[0-9]+\n"));
}

TEST(FragmentCount, what_is_counted_is_added_before_a_kill) {
  const std::string text =
      instrumented(fragment("OpSelectionMerge %rest None\nOpBranchConditional %true %dies %rest\n"
                            "%dies = OpLabel\nOpKill\n%rest = OpLabel\nOpReturn\n"),
                   fragment_options());
  EXPECT_THAT(text, testing::ContainsRegex("OpFunctionCall %void %tally_flush\n *OpKill\n"));
}

// The installed SPIRV-Tools do not know OpAbortKHR: OpNop and OpKill stand for its three words in
// the text.
TEST(FragmentCount, what_is_counted_is_added_before_an_abort) {
  using Words = std::vector<uint32_t>;
  const Words stand_in{0x00010000, 0x00010000, 0x000100fc};
  Words module =
      assemble_1_3(fragment("OpSelectionMerge %rest None\nOpBranchConditional %true %dies %rest\n"
                            "%dies = OpLabel\nOpNop\nOpNop\nOpKill\n%rest = OpLabel\n"
                            "OpReturn\n"));
  const auto at = std::search(module.begin(), module.end(), stand_in.begin(), stand_in.end());
  ASSERT_NE(at, module.end());
  constexpr uint32_t kAbort = 3u << 16 | 5121u;
  const auto truth = std::find(module.begin(), module.end(), 3u << 16 | 41u);  // OpConstantTrue
  ASSERT_NE(truth, module.end());
  const Words message{kAbort, truth[1], truth[2]};
  std::copy(message.begin(), message.end(), at);
  auto result = add_block_counts(module, fragment_options());
  ASSERT_TRUE(result.ok());
  const auto abort = std::find(result->words.begin(), result->words.end(), kAbort);
  ASSERT_NE(abort, result->words.end());
  std::copy(stand_in.begin(), stand_in.end(), abort);
  EXPECT_THAT(
      readable(result->words),
      testing::ContainsRegex("OpFunctionCall %void %tally_flush\n *OpNop\n *OpNop\n *OpKill\n"));
}

TEST(FragmentCount, what_is_counted_is_added_before_a_demotion_and_nothing_after_it) {
  const auto result = instrument(
      assemble_1_3(
          "OpCapability Shader\nOpCapability DemoteToHelperInvocation\n"
          "OpExtension \"SPV_EXT_demote_to_helper_invocation\"\nOpMemoryModel Logical GLSL450\n"
          "OpEntryPoint Fragment %main \"main\"\nOpExecutionMode %main OriginUpperLeft\n" +
          kTypes +
          "%main = OpFunction %void None %fn\n%start = OpLabel\n"
          "OpSelectionMerge %rest None\nOpBranchConditional %true %fades %rest\n"
          "%fades = OpLabel\nOpDemoteToHelperInvocation\nOpBranch %rest\n"
          "%rest = OpLabel\n%asks = OpIsHelperInvocationEXT %bool\nOpReturn\nOpFunctionEnd\n"),
      fragment_options());
  const std::string text = readable(result.words);
  EXPECT_THAT(text, testing::ContainsRegex("OpFunctionCall %void %tally_flush\n"
                                           " *OpDemoteToHelperInvocation\n"));
  EXPECT_THAT(text, HasSubstr("= OpIsHelperInvocationEXT %bool"));
  // Counters: the entry and the fading block; the rest is what did not fade.
  const std::vector<uint64_t> counters{10, 4};
  EXPECT_EQ(derive(result.plan, counters).executions, (std::vector<uint64_t>{10, 4, 6}));
}

TEST(FragmentCount, a_block_is_cut_behind_a_call_that_may_not_return) {
  BlockCountOptions options = fragment_options();
  options.placement = Placement::Every;
  const auto result = instrument(
      assemble_1_3(
          fragment("%c = OpFunctionCall %void %maybe\n%d = OpFunctionCall %void %maybe\nOpReturn\n"
                   "OpFunctionEnd\n%maybe = OpFunction %void None %fn\n%m = OpLabel\n"
                   "OpSelectionMerge %back None\nOpBranchConditional %true %dies %back\n"
                   "%dies = OpLabel\nOpKill\n%back = OpLabel\nOpReturn\n")),
      options);
  EXPECT_EQ(result.plan.block_count, 4u);
  EXPECT_EQ(result.plan.counter_count, 6u);  // the first block has three parts
}

TEST(FragmentCount, a_driver_that_drops_overdraw_sees_a_discard_that_is_never_taken) {
  BlockCountOptions options = fragment_options();
  const std::string straight = kTypes +
                               "%main = OpFunction %void None %fn\n%start = OpLabel\n"
                               "OpReturn\nOpFunctionEnd\n";
  const std::string module =
      header("OpEntryPoint Fragment %main \"main\"\nOpExecutionMode %main OriginUpperLeft\n") +
      straight;
  EXPECT_THAT(instrumented(module, options), Not(HasSubstr("OpKill")));
  options.driver.drops_overdraw = true;
  const std::string text = instrumented(module, options);
  EXPECT_EQ(count_of(text, "OpKill"), 1u);
  EXPECT_EQ(count_of(text, "OpFunctionCall %void %tally_never"), 1u);
  // It does not move the tests behind the shader.
  EXPECT_THAT(text, HasSubstr("EarlyFragmentTests"));
}

TEST(FragmentCount, tests_stay_early_where_nobody_could_tell) {
  EXPECT_THAT(instrumented(fragment("OpReturn\n"), fragment_options()),
              HasSubstr("EarlyFragmentTests"));
}

// True if the tests come first in a shader that calls a function with a discard if `condition`, the
// code of %decides, is true. %is is a specialization constant.
bool tests_early(const std::string& condition, bool constant) {
  const std::string code = fragment(
      "%other = OpUndef %bool\n" + condition + "OpSelectionMerge %rest None\nOpBranchConditional " +
          (condition.find("%finally") == std::string::npos ? "%decides" : "%finally") +
          " %rare %rest\n"
          "%rare = OpLabel\n%call = OpFunctionCall %void %kill\nOpBranch %rest\n"
          "%rest = OpLabel\nOpReturn\nOpFunctionEnd\n"
          "%kill = OpFunction %void None %fn\n%k = OpLabel\nOpKill\n",
      "", "", "", "%is = OpSpecConstantFalse %bool\n", "OpDecorate %is SpecId 0\n");
  const AnalyzedModule fixed(parsed(assemble_1_3(code)).fixed({{0, 4, constant ? 1u : 0u}}));
  const auto result = add_block_counts(fixed, fragment_options());
  EXPECT_TRUE(result);
  EXPECT_THAT(instrumented(code, fragment_options()), Not(HasSubstr("EarlyFragmentTests")));
  return result && readable(result->words).find("EarlyFragmentTests") != std::string::npos;
}

TEST(FragmentCount, tests_stay_early_where_a_constant_excludes_what_is_late) {
  const std::string both = "%decides = OpLogicalAnd %bool %other %is\n";
  const std::string either = "%decides = OpLogicalOr %bool %is %other\n";
  const std::string one_by_one =
      "OpSelectionMerge %after None\nOpBranchConditional %is %more %after\n%more = OpLabel\n"
      "OpBranch %after\n%after = OpLabel\n%decides = OpPhi %bool %is %start %other %more\n";
  const std::string in_both_ways =
      one_by_one +
      "OpSelectionMerge %end None\nOpBranchConditional %decides %and %end\n"
      "%and = OpLabel\nOpBranch %end\n%end = OpLabel\n"
      "%finally = OpPhi %bool %decides %after %other %and\n";
  for (const std::string& condition : {both, one_by_one, in_both_ways}) {
    EXPECT_TRUE(tests_early(condition, false)) << condition;
    EXPECT_FALSE(tests_early(condition, true)) << condition;
  }
  EXPECT_FALSE(tests_early(either, false));
}

TEST(FragmentCount, tests_stay_late_where_the_picture_depends_on_it) {
  const auto expect_late = [](const std::string& text, const BlockCountOptions& options) {
    EXPECT_THAT(instrumented(text, options), Not(HasSubstr("EarlyFragmentTests"))) << text;
  };
  expect_late(fragment("OpKill\n"), fragment_options());
  const std::string float_output =
      "%float = OpTypeFloat 32\n%out_pointer = OpTypePointer Output %float\n"
      "%depth = OpVariable %out_pointer Output\n";
  expect_late(fragment("OpReturn\n", "", "OpExecutionMode %main DepthReplacing\n", " %depth",
                       float_output, "OpDecorate %depth BuiltIn FragDepth\n"),
              fragment_options());
  expect_late(
      fragment("%at = OpAccessChain %member %buffer %zero\nOpStore %at %zero\nOpReturn\n", "", "",
               "",
               "%uint = OpTypeInt 32 0\n%zero = OpConstant %uint 0\n%block = OpTypeStruct %uint\n"
               "%pointer = OpTypePointer StorageBuffer %block\n"
               "%member = OpTypePointer StorageBuffer %uint\n"
               "%buffer = OpVariable %pointer StorageBuffer\n",
               "OpDecorate %block Block\nOpMemberDecorate %block 0 Offset 0\n"
               "OpDecorate %buffer DescriptorSet 0\nOpDecorate %buffer Binding 0\n"),
      fragment_options());
  BlockCountOptions options = fragment_options();
  options.alpha_to_coverage = true;
  expect_late(fragment("OpReturn\n"), options);
}

TEST(FragmentCount, a_builtin_that_is_there_is_used_again) {
  const std::string text = instrumented(
      fragment("%c = OpLoad %vec4 %coord\nOpReturn\n", "", "", " %coord",
               "%float = OpTypeFloat 32\n%vec4 = OpTypeVector %float 4\n"
               "%in_pointer = OpTypePointer Input %vec4\n%coord = OpVariable %in_pointer Input\n",
               "OpDecorate %coord BuiltIn FragCoord\n"),
      fragment_options());
  EXPECT_EQ(count_of(text, "BuiltIn FragCoord"), 1u);
}

}  // namespace
}  // namespace tally::spirv
