// Tables of lines, and listings.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>

#include "analysis/testing/tables_fixture.h"
#include "spirv/testing/testing.h"

namespace tally::analysis {
namespace {

using store::RowId;
using testing::ElementsAre;
using testing::HasSubstr;

// Line 1 has a loop, and line 2 a condition in it.
const char* const kLoopAndCondition = R"(
%file = OpString "loop.comp"
OpSource GLSL 450 %file "for (uint i = 0; i < 10; ++i)
  if (i > 6)
    ++i;"
%void = OpTypeVoid
%bool = OpTypeBool
%uint = OpTypeInt 32 0
%function = OpTypeFunction %void
%zero = OpConstant %uint 0
%one = OpConstant %uint 1
%six = OpConstant %uint 6
%ten = OpConstant %uint 10
%main = OpFunction %void None %function
%entry = OpLabel
OpLine %file 1 1
OpBranch %header
%header = OpLabel
OpLine %file 1 1
%i = OpPhi %uint %zero %entry %next %continue
%less = OpULessThan %bool %i %ten
OpLoopMerge %merge %continue None
OpBranchConditional %less %body %merge
%body = OpLabel
OpLine %file 2 1
%big = OpUGreaterThan %bool %i %six
OpSelectionMerge %after None
OpBranchConditional %big %then %after
%then = OpLabel
OpLine %file 3 1
%more = OpIAdd %uint %i %one
OpBranch %after
%after = OpLabel
%now = OpPhi %uint %i %body %more %then
OpBranch %continue
%continue = OpLabel
OpLine %file 1 1
%next = OpIAdd %uint %now %one
OpBranch %header
%merge = OpLabel
OpReturn
OpFunctionEnd
)";

// One dispatch of an assembled shader.
class LineTables : public Tables {
 protected:
  void write(const std::vector<uint32_t>& words, const std::vector<uint64_t>& executions) {
    TestScene scene(file_);
    scene.begin_frame(0);
    scene.dispatch(scene.add_pipeline("aa", "", scene.add_shader("bb", "", words)), {}, {},
                   executions);
    scene.finish();
  }
  // Of 4 invocations, two run 9 times and two 10 times.
  void write_loop() { write(assembled(kLoopAndCondition), {4, 42, 38, 19, 38, 38, 4}); }
};

TEST_F(LineTables, lines_tell_the_trips_of_their_loop_and_the_share_of_their_condition) {
  write_loop();
  Analyzer analyzer = open();
  const Table lines = require(analyzer.table(By::Line, {.sort = "location"}));
  ASSERT_EQ(texts(lines, "location"),
            (std::vector<std::string>{"loop.comp", "loop.comp:1", "loop.comp:2", "loop.comp:3"}));
  EXPECT_EQ(cell(lines, 1, "trips_per_entry"), Cell(9.5));
  EXPECT_EQ(cell(lines, 2, "trips_per_entry"), Cell());
  EXPECT_EQ(cell(lines, 1, "taken_share"), Cell()) << "the loop's test is no condition of its own";
  EXPECT_EQ(cell(lines, 2, "taken_share"), Cell(50.0));
  EXPECT_EQ(cell(lines, 3, "taken_share"), Cell());
}

TEST_F(LineTables, lines_and_functions_cost_what_an_invocation_of_their_shader_costs) {
  write_loop();
  Analyzer analyzer = open();
  for (const By by : {By::Line, By::Function}) {
    const Table table = require(analyzer.table(by, {}));
    double all = 0;
    for (size_t row = 0; row < table.rows.size(); ++row) {
      EXPECT_EQ(cell(table, row, "invocations"), Cell(uint64_t{4}));
      const double instructions = number_of(cell(table, row, "instructions"));
      EXPECT_EQ(cell(table, row, "instructions_per_invocation"), Cell(instructions / 4));
      all += instructions;
    }
    EXPECT_GT(all, 0);
  }
}

// Replaces a number by its sine; loads it a second time and multiplies it for nothing.
const char* const kSine = R"(
OpCapability Shader
%glsl = OpExtInstImport "GLSL.std.450"
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main "main"
OpExecutionMode %main LocalSize 1 1 1
%file = OpString "sine.comp"
OpSource GLSL 450 %file "float x = a, y = a * a;
  x = sin(x);
  a = x;"
OpDecorate %block BufferBlock
OpMemberDecorate %block 0 Offset 0
OpDecorate %buffer DescriptorSet 0
OpDecorate %buffer Binding 0
%void = OpTypeVoid
%f32 = OpTypeFloat 32
%u32 = OpTypeInt 32 0
%block = OpTypeStruct %f32
%pointer = OpTypePointer Uniform %block
%element = OpTypePointer Uniform %f32
%buffer = OpVariable %pointer Uniform
%zero = OpConstant %u32 0
%function = OpTypeFunction %void
%main = OpFunction %void None %function
%entry = OpLabel
OpLine %file 1 1
%at = OpAccessChain %element %buffer %zero
%x = OpLoad %f32 %at
%again = OpLoad %f32 %at
%unused = OpFMul %f32 %again %x
OpLine %file 2 1
%sine = OpExtInst %f32 %glsl Sin %x
OpLine %file 3 1
OpStore %at %sine
OpReturn
OpFunctionEnd
)";

TEST_F(LineTables, cost_ranks_lines_by_weights_and_leaves_counts_alone) {
  write(spirv::test::assemble(kSine), {2});
  Analyzer generic = open();
  const Table lines = require(generic.table(By::Line, {}));
  EXPECT_EQ(lines.sorted_by, "cost");
  // A load or store of four bytes is 5, a sine 4; the second load and the product are left out.
  EXPECT_THAT(texts(lines, "location"), ElementsAre("sine.comp:1", "sine.comp:3", "sine.comp:2"));
  EXPECT_THAT(numbers(lines, "cost"), ElementsAre(10, 10, 8));
  EXPECT_THAT(numbers(lines, "instructions"), ElementsAre(8, 4, 2));
  const Table shaders = require(generic.table(By::Shader, {}));
  EXPECT_EQ(cell(shaders, 0, "cost"), Cell(uint64_t{28}));
  EXPECT_EQ(cell(shaders, 0, "cost_per_invocation"), Cell(14.0));
  EXPECT_EQ(cell(shaders, 0, "instructions_per_invocation"), Cell(7.0));

  auto device = DeviceCosts::parse("d", R"({"name": "d", "weights": {"special_function": 100}})",
                                   DeviceCosts::generic().get());
  ASSERT_TRUE(device.ok());
  Analyzer own = open({.frames = {},
                       .shader = {},
                       .device = std::make_shared<const DeviceCosts>(std::move(*device))});
  const Table by_own = require(own.table(By::Line, {}));
  EXPECT_THAT(numbers(by_own, "cost"), ElementsAre(200, 10, 10));
  EXPECT_THAT(numbers(by_own, "instructions"), ElementsAre(2, 8, 4));
}

// Block 0 of the shader branches in line 2 to block 1 (true) and block 2 (false).
class BranchTargets : public Tables {
 protected:
  void write(bool with_branches) {
    TestScene scene(file_);
    RowId yes = 0, no = 0;
    if (with_branches) {
      yes = scene.add_metric(catalogue::Number::BranchTarget0);
      no = scene.add_metric(catalogue::Number::BranchTarget1);
    }
    const RowId shader = scene.add_shader("11112222aaaa", "branch.comp");
    const RowId pipeline = scene.add_pipeline("aaaa0000cccc", "p", shader);
    scene.begin_frame(0);
    for (const uint64_t taken : {5u, 7u}) {
      scene.dispatch(pipeline, {}, {}, {16, taken, 16 - taken, 16});
      if (!with_branches) continue;
      scene.set_value(0, yes, taken);
      scene.set_value(0, no, 16 - taken);
    }
    scene.finish();
  }

  Table annotated(ListingKind kind) {
    Analyzer analyzer = open();
    const auto listings = analyzer.listings(kind, {});
    EXPECT_TRUE(listings.ok());
    return listings->at(0);
  }
};

TEST_F(BranchTargets, follow_their_line_with_the_times_that_each_target_was_taken) {
  write(true);
  for (const ListingKind kind : {ListingKind::Source, ListingKind::Disassembly}) {
    const Table table = annotated(kind);
    const auto labels = texts(table, "branch");
    const auto first = static_cast<size_t>(std::ranges::find(labels, "true") - labels.begin());
    ASSERT_LT(first + 1, labels.size());
    EXPECT_EQ(cell(table, first, "executions"), Cell(uint64_t{12}));
    EXPECT_EQ(cell(table, first, "branch_block"), Cell(uint64_t{0}));
    EXPECT_EQ(cell(table, first, "text"), Cell("branch 0 true: taken 37.5 %"));
    EXPECT_EQ(cell(table, first + 1, "branch"), Cell("false"));
    EXPECT_EQ(cell(table, first + 1, "executions"), Cell(uint64_t{20}));
    EXPECT_EQ(std::ranges::count(labels, ""), static_cast<int64_t>(labels.size()) - 2);
    if (kind == ListingKind::Source) {
      EXPECT_EQ(cell(table, first - 1, "location"), Cell("branch.comp:2"));
    } else {
      EXPECT_THAT(texts(table, "text").at(first - 1), HasSubstr("OpBranchConditional"));
    }
  }
}

TEST_F(BranchTargets, are_no_metric_of_other_tables) {
  write(true);
  const Table with = require(open().table(By::Shader, {}));
  EXPECT_FALSE(with.column_index("branch_target_0"));
  write(false);
  EXPECT_EQ(with.columns.size(), require(open().table(By::Shader, {})).columns.size());
}

TEST_F(BranchTargets, have_no_rows_where_they_are_not_counted) {
  write(false);
  EXPECT_FALSE(annotated(ListingKind::Source).column_index("branch"));
}

// Two shaders on a device with subgroups of 8, of which those of one are counted.
class Subgroups : public Tables {
 protected:
  void SetUp() override {
    TestScene scene(file_);
    const RowId subgroups = scene.add_metric(catalogue::Number::Subgroups);
    const RowId lanes = scene.add_metric(catalogue::Number::SubgroupLanes);
    const RowId counted = scene.add_pipeline("aaaa0000cccc", "counted",
                                             scene.add_shader("11112222aaaa", "branch.comp"));
    const RowId other =
        scene.add_pipeline("bbbb0000cccc", "other", scene.add_shader("33334444bbbb", "other.comp"));
    scene.begin_frame(0);
    scene.dispatch(counted, {}, {}, {16, 4, 12, 16});
    for (const auto& [block, times] : {std::pair(0, 2), {1, 2}, {2, 2}, {3, 4}}) {
      scene.set_value(block, subgroups, times);
      scene.set_value(block, lanes, 8 * times);
    }
    scene.dispatch(other, {}, {}, {5, 5, 0, 5});
    scene.finish();
  }
};

TEST_F(Subgroups, give_the_efficiency_of_what_is_counted) {
  Analyzer analyzer = open();
  const Table shaders = require(analyzer.table(By::Shader, {}));
  ASSERT_EQ(texts(shaders, "shader"), (std::vector<std::string>{"branch.comp", "other.comp"}));
  EXPECT_EQ(cell(shaders, 0, "simd_efficiency"), Cell(100.0 * 48 / 80));
  EXPECT_EQ(cell(shaders, 1, "simd_efficiency"), Cell());
  EXPECT_THAT(shaders.notes, testing::Contains(HasSubstr("1 row(s) have no SIMD efficiency")));
  const Table frames = require(analyzer.table(By::Frame, {}));
  EXPECT_EQ(cell(frames, 0, "simd_efficiency"), Cell(100.0 * 48 / 80))
      << "the other shader's executions are left out";
  EXPECT_EQ(cell(frames, 0, "executions"), Cell(uint64_t{48 + 15}));
}

TEST_F(Subgroups, of_a_line_are_those_of_its_most_executed_block) {
  const Table lines = require(open({.frames = {}, .shader = "branch.comp"}).table(By::Line, {}));
  std::map<std::string, Cell> efficiency;
  for (size_t r = 0; r < lines.rows.size(); ++r) {
    efficiency[std::get<std::string>(cell(lines, r, "location"))] =
        cell(lines, r, "simd_efficiency");
  }
  EXPECT_EQ(efficiency["branch.comp:2"], Cell(100.0));
  EXPECT_EQ(efficiency["branch.comp:3"], Cell(25.0));
  EXPECT_EQ(efficiency["branch.comp:4"], Cell(75.0));
  EXPECT_EQ(efficiency["branch.comp:6"], Cell(50.0));
}

TEST_F(Subgroups, sorted_by_efficiency_have_the_worst_first_and_the_column_beside_the_key) {
  for (const char* name : {"simd_efficiency", "SIMD efficiency"}) {
    const Table lines =
        require(open({.frames = {}, .shader = "branch.comp"}).table(By::Line, {.sort = name}));
    EXPECT_EQ(cell(lines, 0, "location"), Cell("branch.comp:3"));
    double before = 0;
    for (size_t r = 0; r < lines.rows.size();
         before = number_of(cell(lines, r++, "simd_efficiency")))
      EXPECT_GE(number_of(cell(lines, r, "simd_efficiency")), before);
    const auto first_value = std::ranges::find(lines.columns, ColumnRole::Value, &Column::role);
    EXPECT_EQ(first_value->id, "simd_efficiency");
    EXPECT_TRUE(first_value->shown);
  }
}

TEST_F(Subgroups, show_their_efficiency_beside_the_source) {
  Analyzer analyzer = open({.frames = {}, .shader = "branch.comp"});
  const auto listings = analyzer.listings(ListingKind::Source, {});
  ASSERT_TRUE(listings.ok());
  EXPECT_EQ(cell(listings->at(0), 2, "simd_efficiency"), Cell(25.0));
}

// Lines 1 to 3 of l.comp, then one of common.glsl, then line 22 of l.comp, then one far beyond.
constexpr const char* kLineDirectives = R"(
%file = OpString "l.comp"
%common = OpString "dir/common.glsl"
%huge = OpString "huge.glsl"
OpSource GLSL 450 %file "#version 450
#line 100 \"dir/common.glsl\"
shared code
#line 22 \"l.comp\"
main code
#line 4000000000 \"huge.glsl\"
far code
"
%void = OpTypeVoid
%uint = OpTypeInt 32 0
%function = OpTypeFunction %void
%one = OpConstant %uint 1
%main = OpFunction %void None %function
%entry = OpLabel
OpLine %common 100 0
%a = OpIAdd %uint %one %one
OpLine %file 22 0
%b = OpIAdd %uint %one %one
OpLine %file 24 0
%c = OpIAdd %uint %one %one
OpLine %huge 4000000000 0
%d = OpIAdd %uint %one %one
OpNoLine
OpReturn
OpFunctionEnd
)";

TEST_F(LineTables, texts_of_lines_are_those_that_line_directives_give_them) {
  write(assembled(kLineDirectives), {7});
  Analyzer analyzer = open();
  std::map<std::string, std::string> lines, listed;
  const Table table = require(analyzer.table(By::Line, {}));
  for (size_t row = 0; row < table.rows.size(); ++row)
    lines[texts(table, "location")[row]] = texts(table, "text")[row];
  EXPECT_EQ(lines["common.glsl:100"], "shared code");
  EXPECT_EQ(lines["l.comp:22"], "main code");
  EXPECT_EQ(lines["l.comp:24"], "(not available)");
  EXPECT_EQ(lines["huge.glsl:4000000000"], "");
  const auto listings = analyzer.listings(ListingKind::Source, {});
  ASSERT_TRUE(listings.ok());
  const Table& listing = listings->at(0);
  EXPECT_LT(listing.rows.size(), 30u);
  for (size_t row = 0; row < listing.rows.size(); ++row) {
    if (std::holds_alternative<uint64_t>(cell(listing, row, "executions")))
      listed[texts(listing, "location")[row]] = texts(listing, "text")[row];
  }
  lines.erase("l.comp:0"), lines.erase("source:0");
  for (const auto& [location, text] : listed) EXPECT_EQ(text, lines[location]) << location;
  EXPECT_EQ(listed.size(), 4u);
}

class Branches : public Tables {
 protected:
  void SetUp() override {
    TestScene scene(file_);
    const RowId used = scene.add_shader("1111", "used"),
                unused = scene.add_shader("2222", "unused");
    const RowId pipeline = scene.add_pipeline("aa", "", used);
    scene.add_pipeline("bb", "", unused);
    scene.begin_frame(0);
    scene.dispatch(pipeline, {}, {}, {4, 4, 0, 4});
    scene.finish();
  }

  std::vector<Cell> executions(const char* shader) const {
    Analyzer analyzer = open({.frames = {}, .shader = shader});
    const auto listings = analyzer.listings(ListingKind::Source, {});
    EXPECT_TRUE(listings.ok());
    const Table& listing = listings->at(0);
    EXPECT_EQ(listing.columns[*listing.column_index("executions")].zero, "#####");
    std::vector<Cell> result;
    for (size_t r = 0; r < listing.rows.size(); ++r)
      result.push_back(cell(listing, r, "executions"));
    return result;
  }
};

TEST_F(Branches, lines_that_never_ran_are_0_and_lines_without_code_are_empty) {
  const Cell none, zero(uint64_t{0}), four(uint64_t{4});
  EXPECT_THAT(executions("1111"), ElementsAre(none, four, four, zero, none, four, none));
}

TEST_F(Branches, every_line_with_code_of_an_unused_shader_is_0) {
  const Cell none, zero(uint64_t{0});
  EXPECT_THAT(executions("2222"), ElementsAre(none, zero, zero, zero, none, zero, none));
}

TEST_F(Branches, instructions_without_a_line_were_executed_as_often_as_their_block) {
  Analyzer analyzer = open();
  const Table lines = require(analyzer.table(By::Line, {}));
  std::vector<std::pair<Cell, Cell>> without;
  for (size_t r = 0; r < lines.rows.size(); ++r) {
    if (cell(lines, r, "text") == Cell("(instructions without a source line)"))
      without.emplace_back(cell(lines, r, "instructions"), cell(lines, r, "executions"));
  }
  EXPECT_THAT(without, ElementsAre(std::pair(Cell(uint64_t{4}), Cell(uint64_t{4}))));
}

}  // namespace
}  // namespace tally::analysis
