#include "analysis/cost/shader_loops.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "analysis/model/metrics.h"
#include "analysis/model/model.h"
#include "analysis/model/shader_code.h"
#include "analysis/testing/test_scene.h"

namespace tally::analysis {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Blocks 0 to 7: main with a loop, whose last block returns a found value and leaves the loop; 8 to
// 10: a function that both call, with a branch; 11: one that only that function calls.
constexpr const char* kCallingShader = R"(
  OpName %main "main"
  OpName %shade "shade"
  OpName %leaf "leaf"
  %void = OpTypeVoid
  %bool = OpTypeBool
  %true = OpConstantTrue %bool
  %function = OpTypeFunction %void
  %main = OpFunction %void None %function
  %entry = OpLabel
  %first = OpFunctionCall %void %shade
  OpBranch %header
  %header = OpLabel
  OpLoopMerge %merge %continue None
  OpBranch %test
  %test = OpLabel
  OpBranchConditional %true %body %merge
  %body = OpLabel
  %second = OpFunctionCall %void %shade
  OpSelectionMerge %next None
  OpBranchConditional %true %found %next
  %found = OpLabel
  %third = OpFunctionCall %void %shade
  OpBranch %merge
  %next = OpLabel
  OpBranch %continue
  %continue = OpLabel
  OpBranch %header
  %merge = OpLabel
  OpReturn
  OpFunctionEnd
  %shade = OpFunction %void None %function
  %begin = OpLabel
  OpSelectionMerge %end None
  OpBranchConditional %true %rare %end
  %rare = OpLabel
  %fourth = OpFunctionCall %void %leaf
  OpBranch %end
  %end = OpLabel
  OpReturn
  OpFunctionEnd
  %leaf = OpFunction %void None %function
  %only = OpLabel
  OpReturn
  OpFunctionEnd
)";
// Main runs once, its loop three times, and is left by a find in the last one.
const std::vector<uint64_t> kCallingExecutions = {1, 3, 3, 3, 1, 2, 2, 1, 5, 2, 5, 2};
constexpr ShaderPart kMainPart{0, false}, kLoopPart{1, true}, kShadePart{8, false};

class CalledParts {
 public:
  explicit CalledParts(const std::vector<uint64_t>& executions = kCallingExecutions) {
    const std::string path = folder_.file("parts.tally");
    {
      TestScene scene(path);
      const auto pipeline =
          scene.add_pipeline("p1", "p", scene.add_shader("s1", "s", assembled(kCallingShader)));
      scene.begin_frame(0);
      scene.dispatch(pipeline, std::nullopt, std::nullopt, executions);
      scene.finish();
    }
    model_.emplace(open_model(path).value());
    codes_.emplace(*model_);
    variants_.emplace(*model_, *codes_);
    totals_.emplace(BlockTotals::count(*model_, *codes_, *variants_, {}).value());
  }

  // A block costs its executions, as if one execution cost 1.
  std::vector<ShaderParts::Cost> costs(const std::vector<ShaderPart>& parts) {
    const auto metrics = describe_metrics(*model_);
    return ShaderParts(codes_->of(0).value(), parts).costs(0, *totals_, executions_metric(metrics));
  }
  std::vector<std::string> divided(const std::vector<ShaderPart>& parts) {
    return ShaderParts(codes_->of(0).value(), parts).divided(0, *totals_);
  }

 private:
  store::TestDirectory folder_;
  std::optional<Model> model_;
  std::optional<ShaderCodes> codes_;
  std::optional<Variants> variants_;
  std::optional<BlockTotals> totals_;
};

TEST(ShaderParts, of_a_whole_shader_have_the_cost_of_all_blocks) {
  const auto costs = CalledParts().costs({kMainPart});
  EXPECT_EQ(costs[0].self, 30u);
  EXPECT_EQ(costs[0].all, 30u);
  EXPECT_EQ(costs[0].runs, 1u);
  EXPECT_THAT(CalledParts().divided({kMainPart}), IsEmpty());
}

TEST(ShaderParts, a_loop_has_the_blocks_that_leave_it_and_what_they_call) {
  const auto costs = CalledParts().costs({kMainPart, kLoopPart});
  // 14 in the loop; of 14 in shade and leaf those of 4 of 5 calls, as 2.8 are rounded down.
  EXPECT_EQ(costs[1].self, 14u + 12u);
  EXPECT_EQ(costs[0].self, 2u + 2u);
  EXPECT_EQ(costs[0].all, 30u);
  EXPECT_EQ(costs[1].all, costs[1].self);
  EXPECT_EQ(costs[1].runs, 1u);
}

TEST(ShaderParts, a_function_that_is_a_part_takes_its_cost_out_of_its_callers) {
  const auto costs = CalledParts().costs({kMainPart, kLoopPart, kShadePart});
  EXPECT_EQ(costs[0].self, 2u);
  EXPECT_EQ(costs[1].self, 14u);
  EXPECT_EQ(costs[2].self, 14u);
  EXPECT_EQ(costs[2].all, 14u);
  EXPECT_EQ(costs[2].runs, 5u);
  EXPECT_EQ(costs[1].all, 14u + 12u);
  EXPECT_EQ(costs[0].all, 30u);
  EXPECT_THAT(CalledParts().divided({kMainPart, kLoopPart, kShadePart}), IsEmpty());
}

TEST(ShaderParts, names_the_functions_whose_calls_differ) {
  EXPECT_THAT(CalledParts().divided({kMainPart, kLoopPart}), ElementsAre("shade"));
  // Each call runs the same blocks.
  EXPECT_THAT(CalledParts({1, 3, 3, 3, 1, 2, 2, 1, 5, 5, 5, 5}).divided({kMainPart, kLoopPart}),
              IsEmpty());
  EXPECT_THAT(CalledParts({1, 3, 3, 3, 1, 2, 2, 1, 5, 0, 5, 0}).divided({kMainPart, kLoopPart}),
              IsEmpty());
  // Only the loop calls it.
  EXPECT_THAT(CalledParts({0, 3, 3, 3, 1, 2, 2, 1, 4, 2, 4, 2}).divided({kMainPart, kLoopPart}),
              IsEmpty());
}

}  // namespace
}  // namespace tally::analysis
