#include "spirv/analysis/nesting.h"

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
  EXPECT_TRUE(add_block_counts(test::large_module("early returns", 72).words, options));
  const auto result = add_block_counts(test::large_module("early returns", 73).words, options);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message,
            "its conditionals and early returns may stand 73 deep in each other; with code that "
            "counts, this driver can run 72");
}

}  // namespace
}  // namespace tally::spirv
