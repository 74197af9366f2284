#include "spirv/analysis/loop_bounds.h"

#include <gtest/gtest.h>

#include <map>

#include "spirv/testing/testing.h"

namespace tally::spirv {
namespace {

// Places in a loop: start -> header -> test -> body -> next -> header, test -> after.
// Value %i is what `test` compares.
struct LoopText {
  std::string decorations = "";
  std::string start = "OpStore %v %zero\nOpBranch %header\n";
  std::string header = "";
  std::string test = "%i = OpLoad %uint %v\n%more = OpULessThan %bool %i %five\n";
  std::string branch = "OpBranchConditional %more %body %after\n";
  std::string body = "OpBranch %next\n";
  std::string next = "%old = OpLoad %uint %v\n%new = OpIAdd %uint %old %one\nOpStore %v %new\n";
  std::string last = "OpBranch %header\n";
};

const LoopText kPhi = {
    .start = "OpBranch %header\n",
    .header = "%i = OpPhi %uint %zero %start %new %next\n",
    .test = "%more = OpULessThan %bool %i %five\n",
    .next = "%new = OpIAdd %uint %i %one\n",
};

std::string text_of(const LoopText& loop) {
  return "OpCapability Shader\nOpMemoryModel Logical GLSL450\n"
         "OpEntryPoint GLCompute %main \"main\" %index %place\n"
         "OpExecutionMode %main LocalSize 8 4 2\nOpDecorate %index BuiltIn LocalInvocationIndex\n"
         "OpDecorate %place BuiltIn LocalInvocationId\nOpDecorate %block Block\n"
         "OpMemberDecorate %block 0 Offset 0\n" +
         loop.decorations +
         "%void = OpTypeVoid\n%fn = OpTypeFunction %void\n%bool = OpTypeBool\n"
         "%uint = OpTypeInt 32 0\n%pointer = OpTypePointer Function %uint\n"
         "%true = OpConstantTrue %bool\n%zero = OpConstant %uint 0\n%one = OpConstant %uint 1\n"
         "%two = OpConstant %uint 2\n%five = OpConstant %uint 5\n%many = OpConstant %uint 98\n"
         "%three = OpConstant %uint 3\n%four = OpConstant %uint 4\n%eight = OpConstant %uint 8\n"
         "%row = OpConstant %uint 128\n%index_later = OpSpecConstant %uint 0\n"
         "%stride = OpConstant %uint 64\n%minus_one = OpConstant %uint 0xffffffff\n"
         "%minus_ten = OpConstant %uint 0xfffffff6\n%spec = OpSpecConstant %uint 5\n"
         "%null = OpConstantNull %uint\n%unknown = OpUndef %uint\n"
         "%int = OpTypeInt 32 1\n%uvec3 = OpTypeVector %uint 3\n"
         "%input = OpTypePointer Input %uint\n%inputs = OpTypePointer Input %uvec3\n"
         "%index = OpVariable %input Input\n%place = OpVariable %inputs Input\n"
         "%block = OpTypeStruct %uint\n%blocks = OpTypePointer PushConstant %block\n"
         "%member = OpTypePointer PushConstant %uint\n%push = OpVariable %blocks PushConstant\n"
         "%blocks_out = OpTypePointer StorageBuffer %block\n%numbers = OpTypePointer StorageBuffer "
         "%uint\n"
         "%memory = OpVariable %blocks_out StorageBuffer\n"
         "%main = OpFunction %void None %fn\n%start = OpLabel\n"
         "%v = OpVariable %pointer Function\n%w = OpVariable %pointer Function\n" +
         loop.start + "%header = OpLabel\n" + loop.header +
         "OpLoopMerge %after %next None\nOpBranch %test\n%test = OpLabel\n" + loop.test +
         loop.branch + "%body = OpLabel\n" + loop.body + "%next = OpLabel\n" + loop.next +
         loop.last + "%after = OpLabel\nOpReturn\nOpFunctionEnd\n";
}

struct Bounds {
  std::vector<uint32_t> blocks;
  std::vector<LoopBound> loops;
};

Bounds bounds_of(const std::string& text) {
  const AnalyzedModule analyzed(test::parsed(test::assemble(text)));
  const Result<Cfg>& cfg = analyzed.cfg(0);
  if (!cfg) throw std::runtime_error(cfg.error().message);
  Bounds bounds;
  bounds.loops = find_loop_bounds(analyzed, analyzed.module().entry_points()[0], 0);
  bounds.blocks = block_bounds(bounds.loops, cfg->blocks().size());
  return bounds;
}

// The bound of the header's loop.
uint32_t bound_of(const LoopText& loop) { return bounds_of(text_of(loop)).blocks[1]; }

template <typename Change>
uint32_t bound_with(LoopText loop, const Change& change) {
  change(loop);
  return bound_of(loop);
}

void compare(LoopText& loop, const std::string& comparison) {
  const bool loads = loop.test.starts_with("%i = OpLoad");
  loop.test = (loads ? "%i = OpLoad %uint %v\n" : "") + ("%more = " + comparison + "\n");
}

TEST(LoopBounds, blocks_outside_of_loops_are_executed_once) {
  const std::vector<uint32_t> bounds = bounds_of(text_of({})).blocks;
  EXPECT_EQ(bounds.front(), 1u);
  EXPECT_EQ(bounds.back(), 1u);
}

TEST(LoopBounds, a_header_is_executed_once_more_than_the_test_passes) {
  EXPECT_EQ(bound_of({}), 6u);
  EXPECT_EQ(bound_of(kPhi), 6u);
}

TEST(LoopBounds, every_comparison_counts_up_or_down) {
  const std::map<std::string, uint32_t> up = {{"OpULessThan %bool %i %five", 6},
                                              {"OpULessThanEqual %bool %i %five", 7},
                                              {"OpSLessThan %bool %i %five", 6},
                                              {"OpSLessThanEqual %bool %i %five", 7},
                                              {"OpUGreaterThan %bool %five %i", 6},
                                              {"OpUGreaterThanEqual %bool %five %i", 7},
                                              {"OpSGreaterThan %bool %five %i", 6},
                                              {"OpSGreaterThanEqual %bool %five %i", 7},
                                              {"OpSLessThan %bool %i %minus_one", 1},
                                              {"OpULessThan %bool %i %null", 1},
                                              {"OpUGreaterThan %bool %i %five", kUnbounded},
                                              {"OpINotEqual %bool %i %five", 6},
                                              {"OpIEqual %bool %i %zero", 2}};
  for (const auto& [comparison, bound] : up) {
    for (const LoopText& loop : {LoopText(), kPhi}) {
      const auto change = [&comparison = comparison](LoopText& l) { compare(l, comparison); };
      EXPECT_EQ(bound_with(loop, change), bound) << comparison;
    }
  }
  const std::map<std::string, uint32_t> down = {{"OpUGreaterThan %bool %i %zero", 6},
                                                {"OpUGreaterThanEqual %bool %i %one", 6},
                                                {"OpSGreaterThan %bool %i %zero", 6},
                                                {"OpSGreaterThanEqual %bool %i %zero", 7},
                                                {"OpULessThan %bool %zero %i", 6},
                                                {"OpSLessThanEqual %bool %zero %i", 7},
                                                {"OpSGreaterThan %bool %i %minus_ten", 16},
                                                {"OpUGreaterThanEqual %bool %i %zero", kUnbounded},
                                                {"OpULessThan %bool %i %five", kUnbounded}};
  for (const auto& [comparison, bound] : down) {
    const auto count_down = [&comparison = comparison](LoopText& loop) {
      loop.start = "OpStore %v %five\nOpBranch %header\n";
      loop.next = "%old = OpLoad %uint %v\n%new = OpISub %uint %old %one\nOpStore %v %new\n";
      compare(loop, comparison);
    };
    EXPECT_EQ(bound_with({}, count_down), bound) << comparison;
  }
}

TEST(LoopBounds, a_test_may_leave_the_loop_where_it_is_true) {
  const auto leave = [](LoopText& loop) {
    compare(loop, "OpUGreaterThanEqual %bool %i %five");
    loop.branch = "OpBranchConditional %more %after %body\n";
  };
  EXPECT_EQ(bound_with({}, leave), 6u);
}

TEST(LoopBounds, the_start_need_not_be_known_if_it_cannot_be_negative) {
  const auto stride = [](LoopText& loop) {
    loop.start = "OpStore %v %unknown\nOpBranch %header\n";
    loop.next = "%old = OpLoad %uint %v\n%new = OpIAdd %uint %stride %old\nOpStore %v %new\n";
    compare(loop, "OpULessThan %bool %i %many");
  };
  EXPECT_EQ(bound_with({}, stride), 3u);
  const auto signed_stride = [&](LoopText& loop) {
    stride(loop);
    compare(loop, "OpSLessThan %bool %i %many");
  };
  EXPECT_EQ(bound_with({}, signed_stride), (0x80000000u + 98 + 63) / 64 + 1);
}

TEST(LoopBounds, a_value_that_passes_must_not_wrap_around) {
  const auto limit = [](LoopText& loop) { compare(loop, "OpULessThanEqual %bool %i %minus_one"); };
  EXPECT_EQ(bound_with({}, limit), kUnbounded);
  const auto step = [](LoopText& loop) {
    loop.next = "%old = OpLoad %uint %v\n%new = OpIAdd %uint %old %five\nOpStore %v %new\n";
    compare(loop, "OpULessThan %bool %i %minus_one");
  };
  EXPECT_EQ(bound_with({}, step), kUnbounded);
}

TEST(LoopBounds, the_test_may_stand_behind_the_step) {
  LoopText rotated = kPhi;
  rotated.test = "%new = OpIAdd %uint %i %one\n%more = OpULessThan %bool %new %five\n";
  rotated.next = "";
  EXPECT_EQ(bound_of(rotated), 5u);
}

TEST(LoopBounds, values_may_be_multiplied_divided_and_shifted) {
  struct Case {
    std::string first, step, test;
    uint32_t bound;
  };
  const std::string less = "OpULessThan %bool %i %stride", more = "OpUGreaterThan %bool %i %zero";
  const std::vector<Case> cases = {
      {"%one", "OpIMul %uint %old %two", less, 7},
      {"%one", "OpIMul %uint %two %old", "OpULessThanEqual %bool %i %stride", 8},
      {"%one", "OpShiftLeftLogical %uint %old %one", less, 7},
      {"%one", "OpShiftLeftLogical %uint %old %five", "OpINotEqual %bool %i %zero", 8},
      {"%one", "OpIMul %uint %old %one", less, kUnbounded},
      {"%one", "OpShiftLeftLogical %uint %old %stride", less, kUnbounded},
      {"%stride", "OpUDiv %uint %old %two", more, 8},
      {"%stride", "OpShiftRightLogical %uint %old %one", more, 8},
      {"%stride", "OpSDiv %uint %old %two", more, 8},
      {"%stride", "OpShiftRightArithmetic %uint %old %five", more, 3},
      {"%stride", "OpUDiv %uint %old %null", more, kUnbounded},
      {"%stride", "OpUDiv %uint %two %old", more, kUnbounded},
      {"%stride", "OpSDiv %uint %old %minus_one", more, kUnbounded}};
  for (const Case& one : cases) {
    LoopText loop;
    loop.start = "OpStore %v " + one.first + "\nOpBranch %header\n";
    loop.next = "%old = OpLoad %uint %v\n%new = " + one.step + "\nOpStore %v %new\n";
    compare(loop, one.test);
    EXPECT_EQ(bound_of(loop), one.bound) << one.step;
  }
}

TEST(LoopBounds, nested_loops_multiply) {
  const auto nested = [](const std::string& summand) {
    return bounds_of(text_of(
        {.body = "OpStore %w %zero\nOpBranch %inner\n%inner = OpLabel\n%j = OpLoad %uint %w\n"
                 "%again = OpULessThan %bool %j %two\nOpLoopMerge %done %step None\n"
                 "OpBranchConditional %again %step %done\n%step = OpLabel\n"
                 "%l = OpLoad %uint %w\n%k = OpIAdd %uint " +
                 summand +
                 " %one\nOpStore %w %k\nOpBranch %inner\n%done = OpLabel\nOpBranch %next\n"}));
  };
  // start, header, test, body, inner, step, done, next, after
  EXPECT_EQ(nested("%l").blocks, (std::vector<uint32_t>{1, 6, 6, 6, 18, 18, 6, 6, 1}));
  // A sum of a value that another block has loaded.
  EXPECT_EQ(nested("%j").blocks,
            (std::vector<uint32_t>{1, 6, 6, 6, kUnbounded, kUnbounded, 6, 6, 1}));
}

TEST(LoopBounds, a_loop_that_only_the_test_leaves_is_executed_exactly_so_often) {
  for (const LoopText& loop : {LoopText(), kPhi}) {
    const auto constant = bounds_of(text_of(loop)).loops[0].constant;
    ASSERT_TRUE(constant);
    EXPECT_EQ(constant->before, 0u);
    EXPECT_EQ(constant->test, 2u);
    EXPECT_EQ(constant->latch, 4u);
    EXPECT_EQ(constant->exit, 5u);
  }
  LoopText early;
  early.test = "";
  early.branch = "OpBranch %body\n";
  early.next += "%i = OpLoad %uint %v\n%more = OpULessThan %bool %i %five\n";
  early.last = "OpBranchConditional %more %header %after\n";
  EXPECT_TRUE(bounds_of(text_of(early)).loops[0].constant);
  EXPECT_EQ(bounds_of(text_of(early)).loops[0].executions, 5u);
}

TEST(LoopBounds, other_loops_are_only_bounded) {
  const std::map<std::string, void (*)(LoopText&)> changes = {
      {"an unknown start",
       [](LoopText& loop) { loop.start = "OpStore %v %unknown\nOpBranch %header\n"; }},
      {"a break", [](LoopText& loop) { loop.body = "OpBranchConditional %true %next %after\n"; }},
      {"a return",
       [](LoopText& loop) {
         loop.body =
             "OpSelectionMerge %next None\nOpBranchConditional %true %next %ends\n"
             "%ends = OpLabel\nOpReturn\n";
       }},
      {"a way around the loop",
       [](LoopText& loop) {
         loop.start =
             "OpStore %v %zero\nOpBranchConditional %true %header %around\n"
             "%around = OpLabel\nOpReturn\n";
       }},
  };
  for (const auto& [what, change] : changes) {
    LoopText loop;
    change(loop);
    const Bounds bounds = bounds_of(text_of(loop));
    EXPECT_EQ(bounds.loops[0].executions, 6u) << what;
    EXPECT_FALSE(bounds.loops[0].constant) << what;
  }
}

void step_in_branch(LoopText& loop) {
  loop.body =
      "OpSelectionMerge %next None\nOpBranchConditional %true %step %next\n"
      "%step = OpLabel\n" +
      loop.next + "OpBranch %next\n";
  loop.next = "";
}

void step_of_zero(LoopText& loop) {
  loop.next = "%old = OpLoad %uint %v\n%new = OpIAdd %uint %old %zero\nOpStore %v %new\n";
}

TEST(LoopBounds, what_may_not_hold_in_every_iteration_bounds_nothing) {
  const std::map<std::string, void (*)(LoopText&)> changes = {
      {"a limit that is specialized",
       [](LoopText& loop) { compare(loop, "OpULessThan %bool %i %spec"); }},
      {"a limit that is not known",
       [](LoopText& loop) { compare(loop, "OpULessThan %bool %i %unknown"); }},
      {"a step of zero", step_of_zero},
      {"a second store", [](LoopText& loop) { loop.body = "OpStore %v %one\n" + loop.body; }},
      {"a volatile store",
       [](LoopText& loop) {
         loop.body = "OpStore %w %one\nOpStore %v %one Volatile\n" + loop.body;
       }},
      {"a step in a branch", step_in_branch},
      {"a test in a branch",
       [](LoopText& loop) {
         loop.body =
             "OpSelectionMerge %next None\nOpBranchConditional %true %some %next\n"
             "%some = OpLabel\n" +
             loop.test + "OpBranchConditional %more %next %after\n";
         loop.test = "";
         loop.branch = "OpBranch %body\n";
       }},
      {"a variable of mediump",
       [](LoopText& loop) { loop.decorations = "OpDecorate %v RelaxedPrecision\n"; }},
      {"a sum of mediump",
       [](LoopText& loop) { loop.decorations = "OpDecorate %new RelaxedPrecision\n"; }},
  };
  for (const auto& [what, change] : changes) {
    EXPECT_EQ(bound_with({}, change), kUnbounded) << what;
  }
}

TEST(LoopBounds, a_loop_with_two_entries_is_not_bounded) {
  const auto enter = [](LoopText& loop) {
    loop.start = "OpStore %v %zero\nOpBranchConditional %true %header %body\n";
  };
  EXPECT_EQ(bound_with({}, enter), kUnbounded);
}

// The bound of the loop that starts at the invocation's number.
LoopBound from_invocation(const std::string& first, const std::string& comparison,
                          const std::string& step = "%stride") {
  LoopText loop;
  loop.start = first + "OpStore %v %first\nOpBranch %header\n";
  loop.next = "%old = OpLoad %uint %v\n%new = OpIAdd %uint %old " + step + "\nOpStore %v %new\n";
  compare(loop, comparison);
  return bounds_of(text_of(loop)).loops[0];
}

TEST(LoopBounds, invocations_that_stride_over_the_workgroup_are_executed_equally_often) {
  const std::string index = "%first = OpLoad %uint %index\n";  // at most 63
  const LoopBound equal = from_invocation(index, "OpULessThan %bool %i %row");
  EXPECT_TRUE(equal.constant);
  EXPECT_EQ(equal.executions, 3u);
  const LoopBound unequal = from_invocation(index, "OpULessThan %bool %i %many");
  EXPECT_FALSE(unequal.constant);
  EXPECT_EQ(unequal.executions, 3u);

  const std::string chain = "%c = OpAccessChain %input %place ";
  const std::string load = "\n%first = OpLoad %uint %c\n";
  const std::string less = "OpULessThan %bool %i %row";
  EXPECT_TRUE(from_invocation(chain + "%zero" + load, less, "%eight").constant);
  EXPECT_FALSE(from_invocation(chain + "%zero" + load, less, "%five").constant);
  EXPECT_TRUE(from_invocation(chain + "%one" + load, less, "%four").constant);
  EXPECT_FALSE(from_invocation(chain + "%one" + load, less, "%three").constant);
  EXPECT_FALSE(from_invocation(chain + "%index_later" + load, less, "%eight").constant);
  const std::string extract =
      "%p = OpLoad %uvec3 %place\n%e = OpCompositeExtract %uint %p 2\n"
      "%first = OpBitcast %uint %e\n";
  EXPECT_TRUE(from_invocation(extract, less, "%two").constant);
  EXPECT_FALSE(from_invocation(extract, less, "%one").constant);
}

TEST(LoopBounds, a_number_that_only_the_test_stops_has_no_value_twice) {
  const auto distinct = [](const std::string& limit, const std::string& body = "") {
    LoopText loop;
    loop.test = limit + "%i = OpLoad %uint %v\n%more = OpULessThan %bool %i %limit\n";
    loop.body = body + loop.body;
    return bounds_of(text_of(loop)).loops[0].distinct != 0;
  };
  const std::string member = "%m = OpAccessChain %member %push %zero\n";
  EXPECT_TRUE(distinct("%limit = OpLoad %uint %index\n"));
  EXPECT_TRUE(distinct(member + "%limit = OpLoad %uint %m\n"));
  EXPECT_TRUE(distinct(member + "%l = OpLoad %uint %m\n%limit = OpBitcast %uint %l\n"));
  EXPECT_TRUE(distinct("%limit = OpLoad %uint %w\n"));
  EXPECT_FALSE(distinct("%limit = OpLoad %uint %w\n", "OpStore %w %five\n"));
  EXPECT_FALSE(distinct("%limit = OpIAdd %uint %unknown %one\n"));
  EXPECT_FALSE(distinct("%m = OpAccessChain %numbers %memory %zero\n%limit = OpLoad %uint %m\n"));
  EXPECT_FALSE(distinct("%limit = OpLoad %uint %index Volatile\n"));
}

TEST(LoopBounds, a_number_may_have_a_value_twice) {
  const std::map<std::string, void (*)(LoopText&)> changes = {
      {"where a break may end the loop",
       [](LoopText& loop) { loop.body = "OpBranchConditional %true %next %after\n"; }},
      {"where the step is in a branch", step_in_branch},
      {"where it is multiplied",
       [](LoopText& loop) {
         loop.next = "%old = OpLoad %uint %v\n%new = OpIMul %uint %old %two\nOpStore %v %new\n";
       }},
      {"where nothing is added", step_of_zero},
      {"where the step comes before the test",
       [](LoopText& loop) {
         loop.test = loop.next + loop.test;
         loop.next = "";
       }},
  };
  EXPECT_NE(bounds_of(text_of({})).loops[0].distinct, 0u);
  EXPECT_NE(bounds_of(text_of(kPhi)).loops[0].distinct, 0u);
  for (const auto& [where, change] : changes) {
    LoopText loop;
    change(loop);
    EXPECT_EQ(bounds_of(text_of(loop)).loops[0].distinct, 0u) << where;
  }
}

// A hostile module may convert a value before it computes it. The loop's limit is then not
// followed.
TEST(LoopBounds, conversions_lead_to_what_they_convert_if_it_comes_before) {
  LoopText loop = kPhi;
  loop.start = "%a = OpBitcast %int %index_later\n%b = OpBitcast %uint %a\nOpBranch %header\n";
  loop.header = "%i = OpPhi %uint %b %start %new %next\n";
  EXPECT_EQ(bound_of(loop), 6u);  // the start cannot be negative
  loop.start =
      "%a = OpBitcast %int %c\n%b = OpBitcast %uint %a\n%c = OpBitcast %uint %one\n"
      "OpBranch %header\n";
  EXPECT_EQ(bound_of(loop), 6u);
}

}  // namespace
}  // namespace tally::spirv
