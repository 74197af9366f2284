// When emulated occlusion queries use queries of the driver: the test driver counts that.
#include "api/queries/occlusion_scene.h"
#include "depth_columns.frag.h"
#include "stand_in/performance/answers.h"
#include "stores.frag.h"
#include "support/environment.h"

namespace tally::test {
namespace {

class QueriesOfTheDriver : public OcclusionScene {
 protected:
  void SetUp() override { begin(); }
  void TearDown() override { unset_variable(performance::kNoHostReset); }
  void begin() {
    restart(true, {.driver_layers = {"VK_LAYER_TALLY_test_performance_driver"}});
    info_ = with_depth(VK_COMPARE_OP_LESS);
  }
  // One draw: how often queries of the driver are used, and the result with its status.
  struct Numbers {
    uint32_t uses = 0;
    std::array<int64_t, 2> result{};
    bool operator==(const Numbers&) const = default;
  };
  Numbers numbers_of(Code fragment, bool query = true) {
    const RenderTarget target(context(), {.depth_format = info_.depth_format});
    const Pipeline pipeline = make(full_screen_vert, fragment, info_);
    const Queries queries(context(), VK_QUERY_TYPE_OCCLUSION);
    const auto uses = [&] {
      return context().function<performance::UsesOfQueries>(performance::kUsesOfQueries)(
          context().device());
    };
    Numbers numbers;
    const uint32_t before = uses();
    context().run([&](VkCommandBuffer commands) {
      if (query) queries.reset(commands);
      pass(commands, target, [&] {
        if (query) queries.begin(commands, 0, VK_QUERY_CONTROL_PRECISE_BIT);
        draw(commands, pipeline, 3);
        if (query) queries.end(commands);
      });
    });
    numbers.uses = uses() - before;
    if (!query) return numbers;
    check(vkGetQueryPoolResults(context().device(), queries, 0, 1, sizeof numbers.result,
                                numbers.result.data(), sizeof numbers.result,
                                VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WITH_STATUS_BIT_KHR));
    return numbers;
  }
  GraphicsPipelineInfo info_;
};

TEST_F(QueriesOfTheDriver, are_used_only_where_no_shader_counts) {
  constexpr int64_t kComplete = VK_QUERY_RESULT_STATUS_COMPLETE_KHR;
  EXPECT_EQ(numbers_of(stores_frag, false).uses, 0u) << "no query is active";
  EXPECT_EQ(numbers_of(plain_frag), (Numbers{0, {0, kComplete}})) << "the test comes first";
  const Numbers stores = numbers_of(stores_frag);
  EXPECT_EQ(stores.result, (std::array<int64_t, 2>{0, kComplete}));
  EXPECT_GT(stores.uses, 0u);
  info_.depth_compare = VK_COMPARE_OP_ALWAYS;
  EXPECT_EQ(numbers_of(stores_frag), (Numbers{0, {kPixels, kComplete}}));
}

TEST_F(QueriesOfTheDriver, are_not_used_if_the_host_cannot_reset_them) {
  set_variable(performance::kNoHostReset, "1");
  begin();
  EXPECT_EQ(numbers_of(plain_frag), (Numbers{0, {0, VK_QUERY_RESULT_STATUS_COMPLETE_KHR}}));
  EXPECT_EQ(numbers_of(depth_columns_frag),
            (Numbers{0, {kPixels, VK_QUERY_RESULT_STATUS_ERROR_KHR}}))
      << "the test drops half of them";
}

}  // namespace
}  // namespace tally::test
