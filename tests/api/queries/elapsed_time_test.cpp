// VK_QCOM_elapsed_timer_query, which the layer makes of two timestamps of the driver. The driver's
// own timestamps inside and around the query bound its result.
#include <tally/vulkan_newest.h>

#include "api/queries/scenes.h"
#include "full_screen.vert.h"
#include "plain.frag.h"

namespace tally::test {
namespace {

class ElapsedTime : public QueryTypes {
 protected:
  static constexpr uint32_t kGroups = 128;
  enum Timestamp : uint32_t { kBefore, kFirst, kLast, kAfter, kTimestamps };

  void SetUp() override {
    start(true,
          {.device_extensions = {VK_QCOM_ELAPSED_TIMER_QUERY_EXTENSION_NAME},
           .device_next = &feature_},
          {{"emulate_queries", "statistics"}});
    timestamps_.emplace(context(), VK_QUERY_TYPE_TIMESTAMP, kTimestamps);
    timer_.emplace(context(), VK_QUERY_TYPE_TIME_ELAPSED_QCOM, 2);
  }
  void TearDown() override {
    timestamps_.reset();
    timer_.reset();
  }

  void write(VkCommandBuffer commands, Timestamp which) {
    vkCmdWriteTimestamp(commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, *timestamps_, which);
  }
  void reset(VkCommandBuffer commands) {
    timestamps_->reset(commands);
    timer_->reset(commands);
  }
  // Records `work` between timestamps inside the query.
  template <typename Work>
  void time(VkCommandBuffer commands, Work&& work) {
    timer_->begin(commands);
    write(commands, kFirst);
    work();
    write(commands, kLast);
    timer_->end(commands);
  }
  void expect_bounded(uint64_t elapsed) {
    const auto at = [&](Timestamp which) { return timestamps_->read(which)[0]; };
    EXPECT_GE(elapsed, at(kLast) - at(kFirst));
    EXPECT_LE(elapsed, at(kAfter) - at(kBefore));
    EXPECT_GT(at(kLast), at(kFirst)) << "the work takes time";
  }

  std::optional<Queries> timestamps_, timer_;

 private:
  VkPhysicalDeviceElapsedTimerQueryFeaturesQCOM feature_{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ELAPSED_TIMER_QUERY_FEATURES_QCOM, nullptr, VK_TRUE};
};

TEST_F(ElapsedTime, is_offered_where_the_driver_has_timestamps) {
  EXPECT_TRUE(context().has_extension(VK_QCOM_ELAPSED_TIMER_QUERY_EXTENSION_NAME));
  VkPhysicalDeviceElapsedTimerQueryFeaturesQCOM feature{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ELAPSED_TIMER_QUERY_FEATURES_QCOM};
  VkPhysicalDeviceFeatures2 features{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, &feature};
  vkGetPhysicalDeviceFeatures2(context().gpu(), &features);
  EXPECT_TRUE(feature.elapsedTimerQuery);
}

TEST_F(ElapsedTime, of_dispatches_lies_between_timestamps_inside_and_around_each_time_it_is_taken) {
  const Pipeline pipeline = make_work();
  const VkCommandBuffer commands = context().begin_commands(0);
  reset(commands);
  write(commands, kBefore);
  time(commands, [&] { dispatch(commands, pipeline, kGroups); });
  write(commands, kAfter);
  ASSERT_EQ(vkEndCommandBuffer(commands), VK_SUCCESS);
  for (int submission = 0; submission < 2; ++submission) {
    context().submit_and_wait(commands);
    expect_bounded(timer_->read()[0]);
  }
}

TEST_F(ElapsedTime, of_draws_inside_a_render_pass_lies_between_timestamps) {
  const RenderTarget target(context());
  const Pipeline pipeline = make_graphics({{kVertex, full_screen_vert}, {kFragment, plain_frag}});
  context().run([&](VkCommandBuffer commands) {
    reset(commands);
    write(commands, kBefore);
    target.begin(commands);
    time(commands, [&] { draw(commands, pipeline, 3, 1000); });
    target.end(commands);
    write(commands, kAfter);
  });
  expect_bounded(timer_->read()[0]);
}

TEST_F(ElapsedTime, goes_on_in_secondaries_and_does_not_disturb_other_queries) {
  const Pipeline pipeline = make_work();
  const Queries statistics(context(), VK_QUERY_TYPE_PIPELINE_STATISTICS, 1,
                           VK_QUERY_PIPELINE_STATISTIC_COMPUTE_SHADER_INVOCATIONS_BIT);
  const VkCommandBuffer secondary = context().begin_secondary();
  write(secondary, kFirst);
  dispatch(secondary, pipeline, kGroups);
  write(secondary, kLast);
  ASSERT_EQ(vkEndCommandBuffer(secondary), VK_SUCCESS);
  context().run([&](VkCommandBuffer commands) {
    reset(commands);
    statistics.reset(commands);
    write(commands, kBefore);
    timer_->begin(commands);
    vkCmdExecuteCommands(commands, 1, &secondary);
    timer_->end(commands);
    write(commands, kAfter);
    statistics.begin(commands);
    timer_->begin(commands, 1);
    dispatch(commands, pipeline, 3);
    timer_->end(commands, 1);
    statistics.end(commands);
  });
  expect_bounded(timer_->read()[0]);
  EXPECT_EQ(statistics.read()[0], 3u * 8);
  EXPECT_GT(timer_->read(1)[0], 0u);
}

TEST_F(ElapsedTime, is_copied_by_the_gpu_as_the_host_reads_it) {
  const Pipeline pipeline = make_work();
  const Buffer copy(context(), 16, VK_BUFFER_USAGE_TRANSFER_DST_BIT);
  context().run([&](VkCommandBuffer commands) {
    reset(commands);
    write(commands, kBefore);
    time(commands, [&] { dispatch(commands, pipeline, kGroups); });
    write(commands, kAfter);
    vkCmdCopyQueryPoolResults(
        commands, *timer_, 0, 1, copy, 0, 16,
        VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT | VK_QUERY_RESULT_WITH_AVAILABILITY_BIT);
  });
  const auto numbers = copy.as<uint64_t>();
  EXPECT_EQ(numbers[0], timer_->read()[0]);
  EXPECT_EQ(numbers[1], 1u);
  expect_bounded(numbers[0]);
}

}  // namespace
}  // namespace tally::test
