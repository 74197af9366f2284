#include "analysis/coverage/coverage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/model/model.h"
#include "analysis/testing/test_scene.h"

namespace tally::analysis {
namespace {

using store::RowId;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

// An `if` without `else` in line 2. Its false target is the merge block, where line 3 also leads;
// the call before it hides how many invocations reach the branch.
constexpr const char* kIfWithoutElse = R"(
%file = OpString "shaders/if.comp"
OpSource GLSL 450 %file "void main() {
  if (step())
    a = 1 + 1;
  b = 1 + 2;
}"
%void = OpTypeVoid
%bool = OpTypeBool
%uint = OpTypeInt 32 0
%function = OpTypeFunction %void
%condition = OpTypeFunction %bool
%true = OpConstantTrue %bool
%one = OpConstant %uint 1
%two = OpConstant %uint 2
%main = OpFunction %void None %function
%entry = OpLabel
OpLine %file 2 7
%stepped = OpFunctionCall %bool %step
OpSelectionMerge %end None
OpBranchConditional %stepped %then %end
%then = OpLabel
OpLine %file 3 5
%a = OpIAdd %uint %one %one
OpBranch %end
%end = OpLabel
OpLine %file 4 3
%b = OpIAdd %uint %one %two
OpReturn
OpFunctionEnd
%step = OpFunction %bool None %condition
%inside = OpLabel
OpReturnValue %true
OpFunctionEnd
)";

// Captures of the branching shader: line 2 branches, 3 or 4 follows, then 6.
class CoverageTest : public testing::Test {
 protected:
  std::string capture(const std::string& name, const std::vector<uint64_t>& executions,
                      const std::vector<std::string>& hashes = {"1111"}) {
    std::string path = folder_.file(name);
    TestScene scene(path);
    scene.begin_frame(0);
    for (const std::string& hash : hashes) {
      const auto pipeline = scene.add_pipeline("p" + hash, "", scene.add_shader(hash, ""));
      if (!executions.empty()) scene.dispatch(pipeline, {}, {}, executions);
    }
    scene.finish();
    return path;
  }

  static Coverage coverage_of(const std::vector<std::string>& paths) {
    CoverageBuilder builder;
    for (const std::string& path : paths) {
      auto reader = store::Reader::open(path);
      EXPECT_TRUE(reader.ok());
      const auto model = load_model(std::move(*reader), {});
      EXPECT_TRUE(model.ok());
      EXPECT_TRUE(builder.add(*model, {}).ok());
    }
    return std::move(builder).finish();
  }

  store::TestDirectory folder_;
};

TEST_F(CoverageTest, lines_functions_and_branches_have_exact_counts) {
  const Coverage coverage = coverage_of({capture("a", {10, 3, 7, 10})});
  ASSERT_EQ(coverage.files.size(), 1u);
  const FileCoverage& file = coverage.files[0];
  EXPECT_EQ(file.name, "shaders/branch.comp");
  EXPECT_THAT(file.lines, ElementsAre(Pair(2, 10), Pair(3, 3), Pair(4, 7), Pair(6, 10)));
  ASSERT_EQ(file.functions.size(), 1u);
  EXPECT_EQ(file.functions.begin()->second.count, 10u);
  EXPECT_EQ(file.functions.begin()->second.line, 2u);
  ASSERT_EQ(file.branches.size(), 1u);
  EXPECT_EQ(file.branches.begin()->first, (FileCoverage::BranchKey{2, 0, 2}));
  EXPECT_THAT(file.branches.begin()->second.taken, ElementsAre(3, 7));
  EXPECT_TRUE(coverage.uncovered.empty());
}

// Line 3 of the text is line 1000; line 2 has no code, and lines 1002 and 4,000,000,000 no text.
constexpr const char* kLineDirective = R"(
%file = OpString "beyond.comp"
OpSource GLSL 450 %file "first
#line 1000
code
"
%void = OpTypeVoid
%uint = OpTypeInt 32 0
%function = OpTypeFunction %void
%one = OpConstant %uint 1
%main = OpFunction %void None %function
%entry = OpLabel
OpLine %file 1000 0
%a = OpIAdd %uint %one %one
OpLine %file 1002 0
%b = OpIAdd %uint %one %one
OpLine %file 4000000000 0
%c = OpIAdd %uint %one %one
OpReturn
OpFunctionEnd
)";

TEST_F(CoverageTest, files_have_all_lines_that_they_are_said_to_have) {
  const std::string path = folder_.file("a");
  TestScene scene(path);
  scene.begin_frame(0);
  scene.dispatch(scene.add_pipeline("p", "", scene.add_shader("1", "", assembled(kLineDirective))),
                 {}, {}, {7});
  scene.finish();
  const Coverage coverage = coverage_of({path});
  ASSERT_EQ(coverage.files.size(), 1u);
  const FileCoverage& file = coverage.files[0];
  EXPECT_THAT(file.lines, ElementsAre(Pair(1000, 7), Pair(1002, 7)));
  EXPECT_EQ(coverage.lines_left_out, 1u);
  EXPECT_EQ(file.text,
            "first\n#line 1000\n" + std::string(997, '\n') + "code\n\n(not available)\n");
}

TEST_F(CoverageTest, captures_and_permutations_are_summed) {
  const Coverage coverage =
      coverage_of({capture("a", {10, 3, 7, 10}, {"1111", "2222"}), capture("b", {5, 5, 0, 5})});
  ASSERT_EQ(coverage.files.size(), 1u);
  EXPECT_THAT(coverage.files[0].lines,
              ElementsAre(Pair(2, 25), Pair(3, 11), Pair(4, 14), Pair(6, 25)));
  EXPECT_THAT(coverage.files[0].branches.begin()->second.taken, ElementsAre(11, 14));
}

TEST_F(CoverageTest, shaders_that_were_never_bound_have_lines_that_never_ran) {
  const Coverage coverage = coverage_of({capture("a", {})});
  ASSERT_EQ(coverage.files.size(), 1u);
  EXPECT_EQ(sum_of(coverage.files[0]).lines, 4u);
  EXPECT_EQ(sum_of(coverage.files[0]).lines_hit, 0u);
  EXPECT_FALSE(coverage.files[0].branches.begin()->second.executed);
  ASSERT_EQ(coverage.uncovered.size(), 1u);
  EXPECT_EQ(coverage.uncovered[0].state, ShaderState::NeverBound);
}

TEST_F(CoverageTest, a_shader_that_was_bound_but_never_drawn_is_told_apart) {
  const std::string path = folder_.file("bound");
  TestScene scene(path);
  scene.begin_frame(0);
  scene.bind(scene.add_pipeline("bound", "", scene.add_shader("1111", "")));
  scene.add_pipeline("not bound", "", scene.add_shader("2222", ""));
  scene.finish();
  const Coverage coverage = coverage_of({path});
  ASSERT_EQ(coverage.uncovered.size(), 2u);
  EXPECT_EQ(coverage.uncovered[0].state, ShaderState::NeverDrawn);
  EXPECT_EQ(coverage.uncovered[1].state, ShaderState::NeverBound);
}

TEST_F(CoverageTest, a_dispatch_without_invocations_is_told_apart) {
  const Coverage coverage = coverage_of({capture("a", {0, 0, 0, 0})});
  ASSERT_EQ(coverage.uncovered.size(), 1u);
  EXPECT_EQ(coverage.uncovered[0].state, ShaderState::NoInvocations);
  EXPECT_EQ(sum_of(coverage.files.at(0)).lines_hit, 0u);
}

TEST_F(CoverageTest, branches_that_block_counts_do_not_determine_need_branch_counts) {
  const auto branches = [this](bool with_branches) {
    const std::string path = folder_.file(with_branches ? "with" : "without");
    TestScene scene(path);
    RowId yes = 0, no = 0;
    if (with_branches) {
      yes = scene.add_metric(catalogue::Number::BranchTarget0);
      no = scene.add_metric(catalogue::Number::BranchTarget1);
    }
    const RowId shader = scene.add_shader("1111", "", assembled(kIfWithoutElse));
    scene.begin_frame(0);
    scene.dispatch(scene.add_pipeline("p", "", shader), {}, {}, {10, 3, 9, 10});
    if (with_branches) scene.set_value(0, yes, 3), scene.set_value(0, no, 6);
    scene.finish();
    const Coverage coverage = coverage_of({path});
    EXPECT_THAT(coverage.files.at(0).lines, ElementsAre(Pair(2, 10), Pair(3, 3), Pair(4, 9)));
    return coverage.files.at(0).branches;
  };
  EXPECT_THAT(branches(false), IsEmpty());
  const auto counted = branches(true);
  ASSERT_EQ(counted.size(), 1u);
  EXPECT_EQ(counted.begin()->first, (FileCoverage::BranchKey{2, 0, 2}));
  EXPECT_THAT(counted.begin()->second.taken, ElementsAre(3, 6));
}

TEST_F(CoverageTest, captures_with_and_without_branch_counts_are_summed) {
  const std::string path = folder_.file("with");
  {
    TestScene scene(path);
    const RowId yes = scene.add_metric(catalogue::Number::BranchTarget0),
                no = scene.add_metric(catalogue::Number::BranchTarget1);
    scene.begin_frame(0);
    const RowId shader = scene.add_shader("1111", "");
    scene.dispatch(scene.add_pipeline("p", "", shader), {}, {}, {10, 3, 7, 10});
    scene.set_value(0, yes, 3), scene.set_value(0, no, 7);
    scene.finish();
  }
  const Coverage coverage = coverage_of({path, capture("without", {5, 5, 0, 5})});
  ASSERT_EQ(coverage.files.at(0).branches.size(), 1u);
  EXPECT_THAT(coverage.files[0].branches.begin()->second.taken, ElementsAre(8, 7));
}

TEST_F(CoverageTest, sums_saturate) {
  constexpr uint64_t kHuge = uint64_t{1} << 62;
  const std::string path = capture("a", {kHuge, kHuge, 0, kHuge});
  const Coverage coverage = coverage_of({path, path, path, path, path});
  EXPECT_EQ(coverage.files[0].lines.at(2), ~uint64_t{0});
}

}  // namespace
}  // namespace tally::analysis
