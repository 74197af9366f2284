#include "analysis/coverage/coverage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/model/load_model.h"
#include "analysis/model/test_scene.h"

namespace tally::analysis {
namespace {

using testing::ElementsAre;
using testing::Pair;

// Captures of the branching shader: line 2 branches, 3 or 4 follows, then 6.
class CoverageTest : public testing::Test {
 protected:
  std::string capture(const std::string& name, const std::vector<uint64_t>& executions,
                      const std::vector<std::string>& hashes = {"1111"}) {
    const std::string path = folder_.file(name);
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

TEST_F(CoverageTest, captures_and_permutations_are_summed) {
  const Coverage coverage =
      coverage_of({capture("a", {10, 3, 7, 10}, {"1111", "2222"}), capture("b", {5, 5, 0, 5})});
  ASSERT_EQ(coverage.files.size(), 1u);
  EXPECT_THAT(coverage.files[0].lines,
              ElementsAre(Pair(2, 25), Pair(3, 11), Pair(4, 14), Pair(6, 25)));
  EXPECT_THAT(coverage.files[0].branches.begin()->second.taken, ElementsAre(11, 14));
}

TEST_F(CoverageTest, shaders_that_were_never_drawn_have_lines_that_never_ran) {
  const Coverage coverage = coverage_of({capture("a", {})});
  ASSERT_EQ(coverage.files.size(), 1u);
  EXPECT_EQ(sum_of(coverage.files[0]).lines, 4u);
  EXPECT_EQ(sum_of(coverage.files[0]).lines_hit, 0u);
  EXPECT_FALSE(coverage.files[0].branches.begin()->second.executed);
  ASSERT_EQ(coverage.uncovered.size(), 1u);
  EXPECT_EQ(coverage.uncovered[0].state, ShaderState::NeverDrawn);
}

TEST_F(CoverageTest, a_dispatch_without_invocations_is_told_apart) {
  const Coverage coverage = coverage_of({capture("a", {0, 0, 0, 0})});
  ASSERT_EQ(coverage.uncovered.size(), 1u);
  EXPECT_EQ(coverage.uncovered[0].state, ShaderState::NoInvocations);
  EXPECT_EQ(sum_of(coverage.files.at(0)).lines_hit, 0u);
}

TEST_F(CoverageTest, sums_saturate) {
  constexpr uint64_t kHuge = uint64_t{1} << 62;
  const std::string path = capture("a", {kHuge, kHuge, 0, kHuge});
  const Coverage coverage = coverage_of({path, path, path, path, path});
  EXPECT_EQ(coverage.files[0].lines.at(2), ~uint64_t{0});
}

}  // namespace
}  // namespace tally::analysis
