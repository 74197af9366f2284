#include "spirv/instrument/flush_code.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "spirv/testing/instrumented.h"

namespace tally::spirv {
namespace {

using test::compute_options;
using test::count_of;
using test::header;
using test::instrumented;
using test::kCompute;
using test::kEarlyReturn;
using test::kTypes;
using testing::HasSubstr;

TEST(FlushCode, one_flush_stands_behind_all_returns_of_the_entry_point) {
  const std::string text =
      instrumented(header(kCompute) + kTypes + kEarlyReturn, compute_options());
  // %early counts itself in a flag.
  EXPECT_THAT(text, testing::ContainsRegex("OpBitwiseOr %uint %[0-9]+ %uint_1\n"
                                           " *OpStore %[0-9]+ %[0-9]+\n"
                                           " *OpReturn\n"));
  EXPECT_THAT(text, testing::ContainsRegex("%tally_main = OpFunction .*\n"
                                           ".*OpLabel\n"
                                           ".*OpFunctionCall %void %[0-9]+\n"
                                           ".*OpFunctionCall %void %tally_flush\n"
                                           " *OpReturn\n"));
  EXPECT_THAT(text, HasSubstr("OpEntryPoint GLCompute %tally_main \"main\""));
  EXPECT_THAT(text, HasSubstr("OpExecutionMode %tally_main LocalSize 4 1 1"));
  EXPECT_EQ(count_of(text, "OpFunctionCall %void %tally_flush"), 1u);
}

BlockCountOptions short_options() {
  BlockCountOptions options = compute_options();
  options.driver.prefers_small_code = options.driver.keeps_draws_apart = true;
  options.int64 = options.int64_atomics = options.wide_subgroups = true;
  return options;
}

// One flag: the bits of counter 0, which counts all invocations, are set from the start.
TEST(FlushCode, short_code_stands_at_the_only_return_and_counts_in_local_variables) {
  const std::string main =
      "%main = OpFunction %void None %fn\n%start = OpLabel\n%x = OpUndef %bool\n"
      "OpSelectionMerge %m None\nOpBranchConditional %x %y %m\n%y = OpLabel\nOpBranch %m\n"
      "%m = OpLabel\nOpReturn\nOpFunctionEnd\n";
  const std::string text = instrumented(header(kCompute) + kTypes + main, short_options());
  EXPECT_EQ(count_of(text, "OpFunctionCall"), 0u);
  EXPECT_EQ(count_of(text, "OpName"), 1u);  // tally.counters
  EXPECT_EQ(count_of(text, "_ptr_Private"), 0u);
  EXPECT_THAT(text, testing::ContainsRegex("OpLabel\n"
                                           " *%[0-9]+ = OpVariable %_ptr_Function_uint Function "
                                           "%uint_1\n"));
  EXPECT_THAT(text, testing::ContainsRegex("OpBitwiseOr %uint %[0-9]+ %uint_256\n"));
  EXPECT_EQ(count_of(text, "OpAtomicIAdd %ulong"), 2u);
}

TEST(FlushCode, short_code_stands_behind_all_returns_of_the_entry_point) {
  const std::string text = instrumented(header(kCompute) + kTypes + kEarlyReturn, short_options());
  EXPECT_EQ(count_of(text, "OpFunctionCall"), 1u);  // of the application's entry point
  EXPECT_THAT(text, testing::ContainsRegex("OpVariable %_ptr_Private_uint Private %uint_1\n"));
  EXPECT_EQ(count_of(text, "OpAtomicIAdd %ulong"), 2u);
}

// The module that a shader with this workgroup size becomes; `globals` may override the
// declarations.
std::string short_code_of(const std::string& local_size, const std::string& decorations = "",
                          const std::string& globals = "",
                          const BlockCountOptions& options = short_options(),
                          const std::string& body = kEarlyReturn) {
  return instrumented(header("OpEntryPoint GLCompute %main \"main\"\n"
                             "OpExecutionMode %main LocalSize " +
                             local_size + "\n") +
                          decorations + kTypes + globals + body,
                      options);
}

TEST(FlushCode, lanes_share_the_additions_of_short_code_where_subgroups_are_full) {
  EXPECT_EQ(count_of(short_code_of("16 3 1"), "OpAtomicIAdd %ulong"), 1u);
  EXPECT_EQ(count_of(short_code_of("12 2 1"), "OpAtomicIAdd %ulong"), 2u);
  const std::string size = "OpDecorate %size BuiltIn WorkgroupSize\n";
  const std::string types = "%uint = OpTypeInt 32 0\n%uvec3 = OpTypeVector %uint 3\n";
  EXPECT_EQ(count_of(short_code_of("1 1 1", size,
                                   types + "%x = OpConstant %uint 24\n"
                                           "%size = OpConstantComposite %uvec3 %x %x %x\n"),
                     "OpAtomicIAdd %ulong"),
            1u);
  EXPECT_EQ(count_of(short_code_of("16 1 1", size,
                                   types + "%x = OpSpecConstant %uint 16\n"
                                           "%size = OpSpecConstantComposite %uvec3 %x %x %x\n"),
                     "OpAtomicIAdd %ulong"),
            2u);
}

// One flag, so one word; the invocations of the workgroup are a constant.
TEST(FlushCode, numbers_without_a_bound_have_a_sum_of_64_bits_where_the_device_has_such_sums) {
  const std::string loop =
      "%main = OpFunction %void None %fn\n%start = OpLabel\n%x = OpUndef %bool\nOpBranch %h\n"
      "%h = OpLabel\nOpLoopMerge %m %c None\nOpBranch %t\n%t = OpLabel\n"
      "OpBranchConditional %x %c %m\n%c = OpLabel\nOpBranch %h\n%m = OpLabel\nOpReturn\n"
      "OpFunctionEnd\n";
  BlockCountOptions options = short_options();
  const auto sums = [&] {
    const std::string text = instrumented(header(kCompute) + kTypes + loop, options);
    EXPECT_EQ(count_of(text, "OpAtomicIAdd %ulong"), 2u);
    return count_of(text, "OpGroupNonUniformIAdd %ulong");
  };
  EXPECT_EQ(sums(), 1u);
  options.wide_subgroups = false;
  EXPECT_EQ(sums(), 0u);
}

TEST(FlushCode, subgroups_add_up_in_workgroup_memory_and_the_last_one_adds_to_the_record) {
  BlockCountOptions options = short_options();
  options.driver.workgroup_bytes = 1024;
  const auto code_of = [&](const std::string& size) {
    return short_code_of(size, "", "", options);
  };
  const std::string text = code_of("6 3 1");
  EXPECT_THAT(text, HasSubstr("%tally_sums = OpVariable %_ptr_Workgroup__arr_ulong_uint_1"));
  EXPECT_EQ(count_of(text, "OpAtomicIAdd %ulong"), 1u);
  EXPECT_EQ(count_of(text, "OpGroupNonUniformIAdd"), 1u);
  EXPECT_EQ(count_of(text, "Ballot"), 0u);
  EXPECT_THAT(text, testing::ContainsRegex("OpIEqual %bool %[0-9]+ %uint_2\n"));  // the last of 3
  EXPECT_THAT(text, HasSubstr("%ulong_18 = OpConstant %ulong 18"));
  EXPECT_EQ(count_of(code_of("8 1 1"), "_Workgroup_"), 0u);  // a single subgroup, one flag
  options.driver.workgroup_bytes = 16;
  EXPECT_EQ(count_of(code_of("6 3 1"), "_Workgroup_"), 0u);  // no room
}

// A flag for each of the branches, so 5 words of four flags. The counter of all invocations needs
// none.
TEST(FlushCode, many_counters_of_a_workgroup_have_one_addition_in_a_loop) {
  constexpr int kBranches = 20;
  BlockCountOptions options = short_options();
  options.driver.workgroup_bytes = 1024;
  std::string body = "%main = OpFunction %void None %fn\n%start = OpLabel\n%x = OpUndef %bool\n";
  for (int i = 0; i < kBranches; ++i) {
    const std::string n = std::to_string(i);
    body += "OpSelectionMerge %m" + n + " None\nOpBranchConditional %x %y" + n + " %m" + n +
            "\n%y" + n + " = OpLabel\nOpBranch %m" + n + "\n%m" + n + " = OpLabel\n";
  }
  body += "OpReturn\nOpFunctionEnd\n";
  for (const std::string size : {"8 1 1", "4 1 1", "16 1 1"}) {
    const std::string text = short_code_of(size, "", "", options, body);
    EXPECT_THAT(text, HasSubstr("%tally_sums = OpVariable %_ptr_Workgroup__arr_ulong_uint_5"));
    EXPECT_EQ(count_of(text, "OpAtomicIAdd %ulong"), 1u);
    EXPECT_EQ(count_of(text, "OpGroupNonUniformIAdd"), 5u);
    // The sums of a single subgroup are bytes.
    EXPECT_EQ(count_of(text, "%ulong_255 = OpConstant"), size == "16 1 1" ? 0u : 1u);
  }
}

// In front of the word of the flag: how many subgroups have ended.
TEST(FlushCode, the_last_subgroup_to_end_adds_where_barriers_may_change_the_order) {
  BlockCountOptions options = short_options();
  options.driver.workgroup_bytes = 1024;
  const auto code_of = [&](const std::string& scope) {
    std::string body = kEarlyReturn;
    body.insert(body.find("OpLabel\n") + 8,
                "OpControlBarrier " + scope + " " + scope + " %uint_264\n");
    return short_code_of("6 3 1", "",
                         "%uint = OpTypeInt 32 0\n%uint_2 = OpConstant %uint 2\n"
                         "%uint_3 = OpConstant %uint 3\n%uint_264 = OpConstant %uint 264\n",
                         options, body);
  };
  const std::string text = code_of("%uint_2");
  EXPECT_THAT(text, HasSubstr("%tally_sums = OpVariable %_ptr_Workgroup__arr_ulong_uint_2"));
  EXPECT_EQ(count_of(text, " Volatile\n"), 3u);  // read and written at the begin, read at the end
  EXPECT_THAT(text, testing::ContainsRegex("OpIEqual %bool %[0-9]+ %ulong_2\n"));
  const std::string of_lanes = code_of("%uint_3");  // barriers of subgroups
  EXPECT_EQ(count_of(of_lanes, "_Workgroup_") + count_of(of_lanes, "OpGroupNonUniform"), 0u);
  // The function that counts finds the address of the counters in a variable.
  EXPECT_EQ(count_of(of_lanes, "OpFunctionCall %void %tally_count"), 2u);
  EXPECT_EQ(count_of(of_lanes, "OpVariable %_ptr_Private_ulong Private %ulong_0"), 1u);
  EXPECT_EQ(count_of(of_lanes, "OpAccessChain %_ptr_PushConstant_ulong"), 1u);
}

TEST(FlushCode, the_flush_stands_before_every_return_where_that_is_asked_for) {
  BlockCountOptions options = compute_options();
  options.single_exit = false;
  const std::string text = instrumented(header(kCompute) + kTypes + kEarlyReturn, options);
  EXPECT_THAT(text, testing::ContainsRegex("OpFunctionCall %void %tally_flush\n *OpReturn\n"));
  EXPECT_EQ(count_of(text, "OpFunctionCall %void %tally_flush"), 2u);
}

// Conditions in a row, with a counter in each.
std::string conditions(size_t count) {
  std::string text = "%main = OpFunction %void None %fn\n%start = OpLabel\n%x = OpUndef %bool\n";
  for (size_t i = 0; i < count; ++i) {
    const std::string inside = "%in" + std::to_string(i), after = "%after" + std::to_string(i);
    text += "OpSelectionMerge " + after + " None\nOpBranchConditional %x " + inside + " " + after +
            "\n" + inside + " = OpLabel\nOpBranch " + after + "\n" + after + " = OpLabel\n";
  }
  return text + "OpReturn\nOpFunctionEnd\n";
}

// After each 32 counters, whose additions are a loop, other lanes may be together.
TEST(FlushCode, lanes_are_ranked_again_for_each_thirty_two_counters) {
  BlockCountOptions options = compute_options();
  options.subgroup_operations = true;
  const auto rankings = [&](size_t counters) {
    const std::string text =
        instrumented(header(kCompute) + kTypes + conditions(counters - 1), options);
    return count_of(text, "OpGroupNonUniformBallotBitCount %uint %uint_3 ExclusiveScan");
  };
  EXPECT_EQ(rankings(2), 1u);
  EXPECT_EQ(rankings(32), 1u);
  EXPECT_EQ(rankings(33), 2u);
  EXPECT_EQ(rankings(65), 3u);
}

// Counter 0 counts all invocations, so the first batch is never empty.
TEST(FlushCode, a_subgroup_skips_later_batches_of_which_it_counted_nothing) {
  BlockCountOptions options = compute_options();
  options.subgroup_operations = true;
  const auto votes = [&](size_t counters) {
    const std::string text =
        instrumented(header(kCompute) + kTypes + conditions(counters - 1), options);
    return count_of(text, "OpGroupNonUniformAny");
  };
  EXPECT_EQ(votes(32), 0u);
  EXPECT_EQ(votes(33), 1u);
  EXPECT_EQ(votes(65), 2u);
}

}  // namespace
}  // namespace tally::spirv
