// Where ray-tracing shaders add their counts: before everything that may end the invocation, and
// never with what was known of the subgroup before a call.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "spirv/instrument/block_count.h"
#include "spirv/testing/instrumented.h"

namespace tally::spirv {
namespace {

using test::count_of;
using test::instrument;
using test::kTypes;
using test::readable;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kFlush = "OpFunctionCall %void %tally_flush\n";

BlockCountOptions options_for(spv::ExecutionModel stage) {
  BlockCountOptions options = test::compute_options();
  options.stage = stage;
  return options;
}

test::Words module_of(const std::string& entry, const std::string& text) {
  return test::assemble(
      "OpCapability RayTracingKHR\nOpExtension \"SPV_KHR_ray_tracing\"\n"
      "OpMemoryModel Logical GLSL450\nOpEntryPoint " +
          entry + "\n" + kTypes + text,
      make_version(1, 4));
}

// if (true) { <end> } return;
test::Words any_hit(const std::string& end) {
  return module_of("AnyHitKHR %main \"main\"",
                   "%main = OpFunction %void None %fn\n%start = OpLabel\n"
                   "OpSelectionMerge %rest None\nOpBranchConditional %true %inside %rest\n"
                   "%inside = OpLabel\n" +
                       end +
                       "\n%rest = OpLabel\nOpReturn\n"
                       "OpFunctionEnd\n");
}

TEST(RayTracing, counts_are_added_before_the_terminators_of_any_hit_shaders) {
  for (const std::string end : {"OpIgnoreIntersectionKHR", "OpTerminateRayKHR"}) {
    const auto result = instrument(any_hit(end), options_for(spv::ExecutionModel::AnyHitKHR));
    const std::string text = readable(result.words);
    EXPECT_THAT(text, ContainsRegex(std::string(kFlush) + " *" + end + "\n"));
    EXPECT_EQ(count_of(text, kFlush), 2u) << end;  // and before the return
    const std::vector<uint64_t> counters{10, 4};
    const auto executions = derive(result.plan, counters).executions;
    EXPECT_EQ(executions[0], 10u);
    EXPECT_EQ(executions[1] + executions[2], 10u);
  }
}

TEST(RayTracing, code_behind_the_ends_of_the_older_extension_does_not_run) {
  for (const std::string end : {"OpIgnoreIntersectionNV", "OpTerminateRayNV"}) {
    const auto words = test::assemble(
        "OpCapability RayTracingNV\nOpExtension \"SPV_NV_ray_tracing\"\n"
        "OpMemoryModel Logical GLSL450\nOpEntryPoint AnyHitNV %main \"main\"\n" +
            kTypes + "%main = OpFunction %void None %fn\n%start = OpLabel\n" + end +
            "\nOpBranch %next\n%next = OpLabel\nOpReturn\nOpFunctionEnd\n",
        make_version(1, 4));
    const auto result = add_block_counts(words, options_for(spv::ExecutionModel::AnyHitKHR));
    ASSERT_TRUE(result);
    EXPECT_THAT(readable(result->words), ContainsRegex(std::string(kFlush) + " *" + end + "\n"));
    const std::vector<uint64_t> counters{7};
    EXPECT_EQ(derive(result->plan, counters).executions, (std::vector<uint64_t>{7, 0}));
  }
}

// Two reports: any of them may be the last that the invocation does.
test::Words intersection() {
  return module_of("IntersectionKHR %main \"main\"",
                   "%float = OpTypeFloat 32\n%uint = OpTypeInt 32 0\n"
                   "%one = OpConstant %float 1\n%kind = OpConstant %uint 0\n"
                   "%main = OpFunction %void None %fn\n%start = OpLabel\n"
                   "%first = OpReportIntersectionKHR %bool %one %kind\n"
                   "OpSelectionMerge %rest None\nOpBranchConditional %first %inside %rest\n"
                   "%inside = OpLabel\n"
                   "%second = OpReportIntersectionKHR %bool %one %kind\n"
                   "OpBranch %rest\n"
                   "%rest = OpLabel\nOpReturn\nOpFunctionEnd\n");
}

TEST(RayTracing, counts_are_added_and_cleared_before_a_hit_is_reported) {
  const auto result = instrument(intersection(), options_for(spv::ExecutionModel::IntersectionKHR));
  const std::string text = readable(result.words);
  EXPECT_EQ(count_of(text, kFlush), 3u);
  EXPECT_THAT(text, ContainsRegex(std::string(kFlush) + "( *OpStore %[0-9]+ %uint_0\n)+ *%[0-9]+ = "
                                                        "OpReportIntersectionKHR"));
  // Also the entry counts in a variable: an invocation adds more than once.
  EXPECT_THAT(text, ContainsRegex("OpBitwiseOr %uint %[0-9]+ %uint_1\n *OpStore %[0-9]+ %[0-9]+\n"
                                  " *%[0-9]+ = OpFunctionCall %void %tally_flush"));
}

TEST(RayTracing, an_invocation_that_ends_in_a_report_is_missing_behind_it) {
  BlockCountOptions options = options_for(spv::ExecutionModel::IntersectionKHR);
  options.placement = Placement::Every;
  const auto result = instrument(intersection(), options);
  // The entry, behind the first report, inside, behind the second, the rest.
  ASSERT_EQ(result.plan.counter_count, 5u);
  const std::vector<uint64_t> counters{10, 9, 6, 5, 8};
  EXPECT_EQ(derive(result.plan, counters).executions, (std::vector<uint64_t>{10, 6, 8}));
}

// A ray-generation shader that calls `call` of the given operands between two blocks.
test::Words generation(const std::string& call) {
  return module_of("RayGenerationKHR %main \"main\" %data",
                   "%uint = OpTypeInt 32 0\n%zero = OpConstant %uint 0\n"
                   "%pointer = OpTypePointer CallableDataKHR %uint\n"
                   "%data = OpVariable %pointer CallableDataKHR\n"
                   "%main = OpFunction %void None %fn\n%start = OpLabel\n" +
                       call +
                       "\nOpSelectionMerge %rest None\nOpBranchConditional %true %inside %rest\n"
                       "%inside = OpLabel\nOpBranch %rest\n"
                       "%rest = OpLabel\nOpReturn\nOpFunctionEnd\n");
}

TEST(RayTracing, a_call_is_no_end_and_subgroups_are_asked_behind_it_alone) {
  const auto result = instrument(generation("OpExecuteCallableKHR %zero %data"),
                                 options_for(spv::ExecutionModel::RayGenerationKHR));
  const std::string text = readable(result.words);
  EXPECT_EQ(count_of(text, kFlush), 1u);
  // The entry point is the last function.
  const std::string main = text.substr(text.rfind("OpFunction %void"));
  EXPECT_THAT(main, HasSubstr("OpExecuteCallable"));
  EXPECT_THAT(main, Not(HasSubstr("GroupNonUniform")));
  EXPECT_THAT(text, HasSubstr("OpGroupNonUniformBallot"));
}

TEST(RayTracing, subgroups_that_begin_are_counted_before_a_call_packs_them_anew) {
  BlockCountOptions options = options_for(spv::ExecutionModel::RayGenerationKHR);
  options.count_subgroups = true;
  const auto words = module_of("RayGenerationKHR %main \"main\" %data",
                               "%uint = OpTypeInt 32 0\n%zero = OpConstant %uint 0\n"
                               "%pointer = OpTypePointer CallableDataKHR %uint\n"
                               "%data = OpVariable %pointer CallableDataKHR\n"
                               "%main = OpFunction %void None %fn\n%start = OpLabel\n"
                               "OpExecuteCallableKHR %zero %data\nOpReturn\nOpFunctionEnd\n");
  const std::string text = readable(instrument(words, options).words);
  const size_t first = text.find("OpFunctionCall %uint %tally_is_first_lane");
  ASSERT_NE(first, std::string::npos);
  EXPECT_LT(first, text.find("OpExecuteCallableKHR"));
}

TEST(RayTracing, ray_queries_are_ordinary_instructions) {
  const auto words = test::assemble(
      "OpCapability Shader\nOpCapability RayQueryKHR\nOpExtension \"SPV_KHR_ray_query\"\n"
      "OpMemoryModel Logical GLSL450\nOpEntryPoint GLCompute %main \"main\" %query\n"
      "OpExecutionMode %main LocalSize 4 1 1\n" +
          kTypes +
          "%type = OpTypeRayQueryKHR\n%pointer = OpTypePointer Private %type\n"
          "%query = OpVariable %pointer Private\n"
          "%main = OpFunction %void None %fn\n%start = OpLabel\n"
          "%more = OpRayQueryProceedKHR %bool %query\n"
          "OpRayQueryConfirmIntersectionKHR %query\nOpRayQueryTerminateKHR %query\n"
          "OpReturn\nOpFunctionEnd\n",
      make_version(1, 4));
  const auto result = instrument(words, test::compute_options());
  EXPECT_EQ(result.plan.counter_count, 1u);
  EXPECT_EQ(count_of(readable(result.words), kFlush), 1u);
}

}  // namespace
}  // namespace tally::spirv
