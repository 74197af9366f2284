#include "spirv/analysis/early_tests.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "spirv/testing/instrumented.h"

namespace tally::spirv {
namespace {

using testing::HasSubstr;
using testing::Not;

// A fragment shader whose main() begins with `start`, goes round a loop with `body`, and ends with
// `after`; it may call %callee, which is `callee`. The texts are whole instructions; `body` and
// `callee` end their blocks.
struct Text {
  std::string start, body = "OpBranch %next\n", after = "OpReturn\n", callee = "OpReturn\n";

  std::string text() const {
    return fmt::format(
        "OpCapability Shader\nOpCapability DemoteToHelperInvocation\n"
        "OpExtension \"SPV_EXT_demote_to_helper_invocation\"\nOpMemoryModel Logical GLSL450\n"
        "OpEntryPoint Fragment %main \"main\"\nOpExecutionMode %main OriginUpperLeft\n"
        "%void = OpTypeVoid\n%fn = OpTypeFunction %void\n%bool = OpTypeBool\n"
        "%true = OpConstantTrue %bool\n"
        "%main = OpFunction %void None %fn\n%start = OpLabel\n{}OpBranch %header\n"
        "%header = OpLabel\nOpLoopMerge %after %next None\n"
        "OpBranchConditional %true %body %after\n%body = OpLabel\n{}"
        "%next = OpLabel\nOpBranch %header\n%after = OpLabel\n{}OpFunctionEnd\n"
        "%callee = OpFunction %void None %fn\n%inside = OpLabel\n{}OpFunctionEnd\n",
        start, body, after, callee);
  }
  bool in_loop() const {
    const AnalyzedModule analyzed(test::parsed(test::assemble_1_3(text())));
    return discards_in_loop(analyzed, analyzed.module().entry_points()[0]);
  }
};

const std::string kCall = "%called = OpFunctionCall %void %callee\n";

TEST(DiscardsInLoop, are_kills_and_demotions_between_header_and_merge) {
  EXPECT_FALSE(Text{}.in_loop());
  EXPECT_TRUE((Text{.body = "OpDemoteToHelperInvocation\nOpBranch %next\n"}.in_loop()));
  EXPECT_TRUE((Text{.body = "OpSelectionMerge %on None\nOpBranchConditional %true %dies %on\n"
                            "%dies = OpLabel\nOpKill\n%on = OpLabel\nOpBranch %next\n"}
                   .in_loop()));
}

TEST(DiscardsInLoop, are_not_those_before_or_behind_it) {
  EXPECT_FALSE((Text{.start = "OpDemoteToHelperInvocation\n"}.in_loop()));
  EXPECT_FALSE((Text{.after = "OpKill\n"}.in_loop()));
}

TEST(DiscardsInLoop, are_those_of_functions_that_are_called_there) {
  EXPECT_TRUE((Text{.body = kCall + "OpBranch %next\n", .callee = "OpKill\n"}.in_loop()));
  EXPECT_FALSE((Text{.body = kCall + "OpBranch %next\n"}.in_loop()));
  EXPECT_FALSE((Text{.after = kCall + "OpReturn\n", .callee = "OpKill\n"}.in_loop()));
  EXPECT_FALSE((Text{.callee = "OpKill\n"}.in_loop()));
}

TEST(DiscardsInLoop, count_by_lane_where_the_driver_would_hang) {
  const std::string text = Text{.body = "OpDemoteToHelperInvocation\nOpBranch %next\n"}.text();
  BlockCountOptions options = test::fragment_options();
  EXPECT_THAT(test::instrumented(text, options), HasSubstr("OpGroupNonUniform"));
  options.driver.hangs_on_discards = true;
  const std::string instrumented = test::instrumented(text, options);
  EXPECT_THAT(instrumented, Not(HasSubstr("OpGroupNonUniform")));
  EXPECT_THAT(instrumented, Not(HasSubstr("Private")));
  EXPECT_THAT(test::instrumented(Text{}.text(), options), HasSubstr("OpGroupNonUniform"));
}

TEST(DiscardsInLoop, cannot_be_counted_by_region_where_the_driver_would_hang) {
  BlockCountOptions options = test::fragment_options();
  options.driver.hangs_on_discards = true;
  options.regions.emplace();
  EXPECT_THAT(
      test::refusal(Text{.body = "OpDemoteToHelperInvocation\nOpBranch %next\n"}.text(), options),
      HasSubstr("discards invocations in a loop"));
}

}  // namespace
}  // namespace tally::spirv
