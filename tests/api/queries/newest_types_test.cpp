// Query types that no driver here has: stand_in/newest/ stands for one. They reach the driver,
// which answers them, while the layer emulates all other types around them.
#include "api/queries/kit.h"
#include "stand_in/newest/driver.h"
#include "support/environment.h"

namespace tally::test {
namespace {

class NewestTypes : public QueriesTest {
 protected:
  void SetUp() override {
    const LayerSettings settings(LayerSettings::Pairs{{"emulate_queries", "all"}});
    ContextOptions options;
    options.layers = {"VK_LAYER_TALLY_counters", "VK_LAYER_TALLY_test_newest_driver"};
    options.instance_next = settings.next();
    options.device_extensions = {"VK_KHR_video_encode_queue", "VK_QCOM_elapsed_timer_query"};
    start(false, options);
  }
};

constexpr uint64_t kSecond = newest::kFirstResult + 1;

TEST_F(NewestTypes, reach_the_driver_in_one_order_with_emulated_queries) {
  const Pipeline pipeline = make_work();
  const Queries timer(context(), newest::kElapsedTime, 2);
  const Queries feedback(context(), newest::kEncodeFeedback, 2);
  const Queries invocations(context(), VK_QUERY_TYPE_PIPELINE_STATISTICS, 2,
                            VK_QUERY_PIPELINE_STATISTIC_COMPUTE_SHADER_INVOCATIONS_BIT);
  const Queries status(context(), VK_QUERY_TYPE_RESULT_STATUS_ONLY_KHR, 2);
  context().run([&](VkCommandBuffer commands) {
    for (const Queries* queries : {&timer, &feedback, &invocations, &status}) {
      queries->reset(commands);
    }
    timer.begin(commands, 1);
    invocations.begin(commands, 1);
    feedback.begin(commands, 1);
    status.begin(commands, 1);
    dispatch(commands, pipeline, 3);
    timer.end(commands, 1);
    dispatch(commands, pipeline, 2);
    invocations.end(commands, 1);
    status.end(commands, 1);
    dispatch(commands, pipeline, 1);
    feedback.end(commands, 1);
  });
  EXPECT_EQ(timer.read(1)[0], kSecond);
  EXPECT_EQ(feedback.read(1)[0], kSecond);
  EXPECT_EQ(invocations.read(1)[0], 8u * 5);
  int64_t state = 0;
  EXPECT_EQ(
      vkGetQueryPoolResults(context().device(), status, 1, 1, sizeof state, &state, sizeof state,
                            VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WITH_STATUS_BIT_KHR),
      VK_SUCCESS);
  EXPECT_EQ(state, VK_QUERY_RESULT_STATUS_COMPLETE_KHR);
}

TEST_F(NewestTypes, of_micromaps_reach_the_driver) {
  for (const VkQueryType type :
       {VK_QUERY_TYPE_MICROMAP_SERIALIZATION_SIZE_EXT, VK_QUERY_TYPE_MICROMAP_COMPACTED_SIZE_EXT}) {
    const Queries sizes(context(), type, 2);
    context().run([&](VkCommandBuffer commands) {
      sizes.reset(commands);
      const VkMicromapEXT micromaps[2] = {};
      context().function<PFN_vkCmdWriteMicromapsPropertiesEXT>("vkCmdWriteMicromapsPropertiesEXT")(
          commands, 2, micromaps, type, sizes, 0);
    });
    EXPECT_EQ(sizes.read(0)[0], newest::kFirstResult);
    EXPECT_EQ(sizes.read(1)[0], kSecond);
  }
}

}  // namespace
}  // namespace tally::test
