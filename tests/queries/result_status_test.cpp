// Result status queries, and the status beside the results of others.
#include "full_screen.vert.h"
#include "plain.frag.h"
#include "queries/scenes.h"

namespace tally::test {
namespace {

class ResultStatus : public QueryTypes {
 protected:
  int32_t status(const Queries& queries) {
    int32_t value = 77;
    check(vkGetQueryPoolResults(context().device(), queries, 0, 1, sizeof value, &value,
                                sizeof value, VK_QUERY_RESULT_WITH_STATUS_BIT_KHR));
    return value;
  }
};

TEST_F(ResultStatus, is_supported_by_every_family) {
  start();
  uint32_t count = 0;
  vkGetPhysicalDeviceQueueFamilyProperties2(context().gpu(), &count, nullptr);
  std::vector<VkQueueFamilyQueryResultStatusPropertiesKHR> status(
      count, {VK_STRUCTURE_TYPE_QUEUE_FAMILY_QUERY_RESULT_STATUS_PROPERTIES_KHR});
  std::vector<VkQueueFamilyProperties2> families;
  for (auto& one : status) {
    families.push_back({VK_STRUCTURE_TYPE_QUEUE_FAMILY_PROPERTIES_2, &one});
  }
  vkGetPhysicalDeviceQueueFamilyProperties2(context().gpu(), &count, families.data());
  for (const auto& one : status) EXPECT_TRUE(one.queryResultStatusSupport);
}

TEST_F(ResultStatus, of_work_that_ran_is_complete) {
  start();
  const Queries queries(context(), VK_QUERY_TYPE_RESULT_STATUS_ONLY_KHR);
  const Pipeline pipeline = make_work();
  context().run([&](VkCommandBuffer commands) { queries.reset(commands); });
  int32_t value = 77;
  EXPECT_EQ(vkGetQueryPoolResults(context().device(), queries, 0, 1, sizeof value, &value,
                                  sizeof value, VK_QUERY_RESULT_WITH_STATUS_BIT_KHR),
            VK_NOT_READY);
  EXPECT_EQ(value, VK_QUERY_RESULT_STATUS_NOT_READY_KHR);
  context().run([&](VkCommandBuffer commands) {
    queries.begin(commands);
    dispatch(commands, pipeline, 1);
    queries.end(commands);
  });
  EXPECT_EQ(status(queries), VK_QUERY_RESULT_STATUS_COMPLETE_KHR);
}

// Its push constants and sets leave no room for the address of a record.
TEST_F(ResultStatus, of_a_query_whose_shaders_could_not_be_counted_is_an_error) {
  start(true, {}, {{"record_address", "push_constant"}});
  const uint32_t all = context().properties().limits.maxPushConstantsSize;
  const PipelineLayout full = make_pipeline_layout(context(), {}, all);
  GraphicsPipelineInfo info;
  info.stages = {{kVertex, full_screen_vert}, {kFragment, plain_frag}};
  info.layout = full;
  const Pipeline pipeline = make_graphics_pipeline(context(), info);
  const RenderTarget target(context());
  const Queries queries(context(), VK_QUERY_TYPE_OCCLUSION);
  context().run([&](VkCommandBuffer commands) {
    queries.reset(commands);
    target.begin(commands);
    vkCmdBindPipeline(commands, kGraphics, pipeline);
    queries.begin(commands);
    vkCmdDraw(commands, 3, 1, 0, 0);
    queries.end(commands);
    target.end(commands);
  });
  struct {
    uint32_t samples;
    int32_t status;
  } result = {};
  check(vkGetQueryPoolResults(context().device(), queries, 0, 1, sizeof result, &result,
                              sizeof result, VK_QUERY_RESULT_WITH_STATUS_BIT_KHR));
  EXPECT_EQ(result.status, VK_QUERY_RESULT_STATUS_ERROR_KHR);
}

}  // namespace
}  // namespace tally::test
