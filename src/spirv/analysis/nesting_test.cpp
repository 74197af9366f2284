#include "spirv/analysis/loops.h"

#include <gtest/gtest.h>

#include "spirv/testing/instrumented.h"
#include "spirv/testing/large_modules.h"

namespace tally::spirv {
namespace {

uint32_t nested(std::span<const uint32_t> words) {
  const AnalyzedModule analyzed(test::parsed(words));
  return nested_conditionals(analyzed, analyzed.module().entry_points()[0]);
}

uint32_t nested_in(std::string_view shape, uint32_t count) {
  return nested(test::large_module(shape, count).words);
}

TEST(Nesting, conditionals_in_a_row_are_one_deep) {
  EXPECT_EQ(nested_in("ifs in a row", 100), 1u);
  EXPECT_EQ(nested_in("loops in a row", 100), 1u);
  EXPECT_EQ(nested_in("discards", 100), 1u);
}

TEST(Nesting, conditionals_in_each_other_add_up) {
  EXPECT_EQ(nested_in("nested ifs", 100), 100u);
  EXPECT_EQ(nested_in("nested loops", 100), 100u);
}

TEST(Nesting, what_follows_an_early_return_is_nested) {
  EXPECT_EQ(nested_in("early returns", 100), 100u);
}

// if (selector == 0) { return; } else { if (selector == 1) { return; } else { ...
TEST(Nesting, cases_that_return_are_nested_like_conditionals) {
  EXPECT_EQ(nested_in("cases that return", 81), 81u);
  EXPECT_EQ(nested_in("cases of switches", 81), 1u);
}

// switch (0) { case 0: if (true) return; else break; case 1: a fallthrough to the next
// case 2: switch (0) { case 0: return; case 1: return; } break; case 3: break; } if (true) ...
TEST(Nesting, only_cases_with_a_return_nest_the_others_and_what_is_behind) {
  const std::string text =
      test::header(test::kCompute) + test::kTypes +
      "%uint = OpTypeInt 32 0\n%zero = OpConstant %uint 0\n"
      "%main = OpFunction %void None %fn\n%start = OpLabel\nOpSelectionMerge %after None\n"
      "OpSwitch %zero %after 0 %c0 1 %c1 2 %c2 3 %c3\n"
      "%c0 = OpLabel\nOpSelectionMerge %c0_end None\n"
      "OpBranchConditional %true %c0_return %c0_end\n%c0_return = OpLabel\nOpReturn\n"
      "%c0_end = OpLabel\nOpBranch %after\n"
      "%c1 = OpLabel\nOpBranch %c2\n"
      "%c2 = OpLabel\nOpSelectionMerge %c2_end None\nOpSwitch %zero %c2_end 0 %d0 1 %d1\n"
      "%d0 = OpLabel\nOpReturn\n%d1 = OpLabel\nOpReturn\n%c2_end = OpLabel\nOpBranch %after\n"
      "%c3 = OpLabel\nOpBranch %after\n"
      "%after = OpLabel\nOpSelectionMerge %end None\nOpBranchConditional %true %last %end\n"
      "%last = OpLabel\nOpBranch %end\n%end = OpLabel\nOpReturn\nOpFunctionEnd\n";
  // Case 2 stands behind case 0, and %c2_end behind both returns: 1 + 1 + 2. Behind the outer
  // switch, two cases and the conditional are 3.
  EXPECT_EQ(nested(test::assemble_1_3(text)), 4u);
}

// The loop is left by a flag that they set.
TEST(Nesting, cases_that_return_from_a_loop_nest_only_what_is_behind_it) {
  std::string targets, cases;
  for (int i = 0; i < 10; ++i) {
    const std::string n = std::to_string(i);
    targets += " " + n + " %c" + n;
    cases += "%c" + n + " = OpLabel\nOpReturn\n";
  }
  const std::string text = test::header(test::kCompute) + test::kTypes +
                           "%uint = OpTypeInt 32 0\n%zero = OpConstant %uint 0\n"
                           "%main = OpFunction %void None %fn\n%start = OpLabel\nOpBranch %header\n"
                           "%header = OpLabel\nOpLoopMerge %after %next None\n"
                           "OpBranchConditional %true %body %after\n%body = OpLabel\n"
                           "OpSelectionMerge %join None\nOpSwitch %zero %join" +
                           targets + "\n" + cases +
                           "%join = OpLabel\nOpBranch %next\n%next = OpLabel\nOpBranch %header\n"
                           "%after = OpLabel\nOpReturn\nOpFunctionEnd\n";
  EXPECT_EQ(nested(test::assemble_1_3(text)), 2u);
}

TEST(Nesting, functions_add_to_the_place_of_their_call) {
  EXPECT_EQ(nested_in("functions that call the next one", 100), 1u);
  const std::string text = test::header(test::kCompute) + test::kTypes +
                           "%main = OpFunction %void None %fn\n%start = OpLabel\n"
                           "OpSelectionMerge %rest None\n"
                           "OpBranchConditional %true %inside %rest\n%inside = OpLabel\n"
                           "%call = OpFunctionCall %void %callee\nOpBranch %rest\n"
                           "%rest = OpLabel\nOpReturn\nOpFunctionEnd\n"
                           "%callee = OpFunction %void None %fn\n%a = OpLabel\n"
                           "OpSelectionMerge %c None\nOpBranchConditional %true %b %c\n"
                           "%b = OpLabel\nOpReturn\n%c = OpLabel\nOpReturn\nOpFunctionEnd\n";
  EXPECT_EQ(nested(test::assemble_1_3(text)), 2u);
}

// A return leaves the loop: the rest of the loop's body does not move.
TEST(Nesting, returns_in_a_loop_nest_only_what_is_behind_it) {
  std::string body;
  for (int i = 0; i < 10; ++i) {
    const std::string n = std::to_string(i);
    body += "OpSelectionMerge %r" + n + " None\nOpBranchConditional %true %e" + n + " %r" + n +
            "\n%e" + n + " = OpLabel\nOpReturn\n%r" + n + " = OpLabel\n";
  }
  const std::string text = test::header(test::kCompute) + test::kTypes +
                           "%main = OpFunction %void None %fn\n%start = OpLabel\nOpBranch %header\n"
                           "%header = OpLabel\nOpLoopMerge %after %next None\n"
                           "OpBranchConditional %true %body %after\n%body = OpLabel\n" +
                           body + "OpBranch %next\n%next = OpLabel\nOpBranch %header\n" +
                           "%after = OpLabel\nOpReturn\nOpFunctionEnd\n";
  EXPECT_EQ(nested(test::assemble_1_3(text)), 2u);
}

TEST(Nesting, a_driver_with_a_limit_gets_deep_shaders_as_they_are) {
  BlockCountOptions options = test::compute_options();
  options.driver.max_nested_conditionals = 80;
  for (const std::string_view shape : {"early returns", "cases that return"}) {
    EXPECT_TRUE(add_block_counts(test::large_module(shape, 72).words, options)) << shape;
    const auto result = add_block_counts(test::large_module(shape, 73).words, options);
    ASSERT_FALSE(result) << shape;
    EXPECT_EQ(result.error().message,
              "its conditionals and early returns may stand 73 deep in each other; with code that "
              "counts, this driver can run 72");
  }
}

}  // namespace
}  // namespace tally::spirv
