// Secondary command buffers that inherit queries: their own queries, and the driver's.
#include <array>

#include "api/queries/scenes.h"
#include "full_screen.vert.h"
#include "plain.frag.h"

namespace tally::test {
namespace {

constexpr uint64_t kInvocationsOfGroup = 8;

enum class Reset { InSecondary, InPrimary, OnHost };

// A secondary command buffer's own queries, while its inheritance info names statistics.
class OwnQueries : public EverySource {
 protected:
  void SetUp() override {
    start_source();
    if (!context().features().pipelineStatisticsQuery) GTEST_SKIP() << "the driver has none";
    if (!emulated() && driver_name() == "lavapipe") {
      GTEST_SKIP() << "lavapipe 22.3 crashes where a dispatch stands before a statistics query";
    }
  }
};

TEST_P(OwnQueries, are_copied_in_the_secondary_command_buffer_that_ran_them) {
  constexpr uint32_t kGroups[] = {3, 5};
  constexpr VkQueryResultFlags kFlags =
      VK_QUERY_RESULT_WAIT_BIT | VK_QUERY_RESULT_WITH_AVAILABILITY_BIT;
  const Pipeline pipeline = make_work();
  const Queries queries(context(), kStatistics, 2, kInvocations);
  Buffer wide(context(), 64, VK_BUFFER_USAGE_TRANSFER_DST_BIT);
  Buffer narrow(context(), 64, VK_BUFFER_USAGE_TRANSFER_DST_BIT);
  for (const Reset reset : {Reset::InSecondary, Reset::InPrimary, Reset::OnHost}) {
    SCOPED_TRACE(static_cast<int>(reset));
    const VkCommandBuffer secondary =
        context().begin_secondary({.pipelineStatistics = kInvocations});
    if (reset == Reset::InSecondary) queries.reset(secondary);
    for (uint32_t i = 0; i < 2; ++i) {
      dispatch(secondary, pipeline, 1);  // outside its own queries
      queries.begin(secondary, i);
      dispatch(secondary, pipeline, kGroups[i]);
      queries.end(secondary, i);
    }
    vkCmdCopyQueryPoolResults(secondary, queries, 0, 2, wide, 8, 24,
                              kFlags | VK_QUERY_RESULT_64_BIT);
    vkCmdCopyQueryPoolResults(secondary, queries, 0, 2, narrow, 4, 12, kFlags);
    vkCmdCopyQueryPoolResults(secondary, queries, 1, 1, wide, 56, 0,
                              VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT);
    vkCmdCopyQueryPoolResults(secondary, queries, 1, 1, narrow, 60, 0, VK_QUERY_RESULT_WAIT_BIT);
    full_barrier(secondary);
    check(vkEndCommandBuffer(secondary));
    for (int run = 0; run < 2; ++run) {
      wide.clear();
      narrow.clear();
      if (reset == Reset::OnHost) vkResetQueryPool(context().device(), queries, 0, 2);
      context().run([&](VkCommandBuffer commands) {
        if (reset == Reset::InPrimary) queries.reset(commands);
        vkCmdExecuteCommands(commands, 1, &secondary);
        full_barrier(commands);
      });
      for (uint32_t i = 0; i < 2; ++i) {
        const uint64_t expected = kGroups[i] * kInvocationsOfGroup;
        EXPECT_EQ(queries.read(i)[0], expected);
        EXPECT_EQ(wide.as<uint64_t>()[1 + 3 * i], expected);
        EXPECT_NE(wide.as<uint64_t>()[2 + 3 * i], 0u);
        EXPECT_EQ(narrow.as<uint32_t>()[1 + 3 * i], expected);
        EXPECT_NE(narrow.as<uint32_t>()[2 + 3 * i], 0u);
      }
      EXPECT_EQ(wide.as<uint64_t>()[7], kGroups[1] * kInvocationsOfGroup);
      EXPECT_EQ(narrow.as<uint32_t>()[15], kGroups[1] * kInvocationsOfGroup);
    }
  }
}

TEST_P(OwnQueries, are_reset_and_run_again_in_the_secondary_command_buffer_that_ran_them) {
  const Pipeline pipeline = make_work();
  const Queries queries(context(), kStatistics, 1, kInvocations);
  const Buffer copies(context(), 32, VK_BUFFER_USAGE_TRANSFER_DST_BIT);
  const VkCommandBuffer secondary = context().begin_secondary({.pipelineStatistics = kInvocations});
  for (const uint32_t groups : {3u, 5u}) {
    queries.reset(secondary);
    queries.begin(secondary);
    dispatch(secondary, pipeline, groups);
    queries.end(secondary);
    vkCmdCopyQueryPoolResults(secondary, queries, 0, 1, copies, groups == 3 ? 0 : 16, 0,
                              VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT);
    full_barrier(secondary);
  }
  queries.reset(secondary);
  vkCmdCopyQueryPoolResults(secondary, queries, 0, 1, copies, 24, 0,
                            VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_PARTIAL_BIT);
  full_barrier(secondary);
  check(vkEndCommandBuffer(secondary));
  context().run([&](VkCommandBuffer commands) {
    vkCmdExecuteCommands(commands, 1, &secondary);
    full_barrier(commands);
  });
  EXPECT_EQ(copies.as<uint64_t>()[0], 3 * kInvocationsOfGroup);
  EXPECT_EQ(copies.as<uint64_t>()[2], 5 * kInvocationsOfGroup);
  EXPECT_EQ(copies.as<uint64_t>()[3], 0u) << "of a query that was reset";
}

// The results that a secondary command buffer computes for its own query stay valid for the
// primary's query, which has another type.
TEST_P(OwnQueries, leave_to_the_primarys_query_what_it_counts) {
  if (!context().features().inheritedQueries) {
    ASSERT_FALSE(emulated()) << "the layer has them where the driver has none";
    GTEST_SKIP() << "no inherited queries";
  }
  constexpr VkQueryPipelineStatisticFlags kClipped =
      VK_QUERY_PIPELINE_STATISTIC_CLIPPING_INVOCATIONS_BIT;
  const Pipeline pipeline = make_graphics({{kVertex, full_screen_vert}, {kFragment, plain_frag}});
  const RenderTarget target(context());
  const Queries own(context(), kStatistics, 1, kClipped);
  const Queries samples(context(), VK_QUERY_TYPE_OCCLUSION);
  Buffer copy(context(), 8, VK_BUFFER_USAGE_TRANSFER_DST_BIT);
  const auto pass = [&](VkCommandBuffer commands, uint32_t triangles) {
    target.begin(commands);
    draw(commands, pipeline, 3, triangles);
    target.end(commands);
    full_barrier(commands);
  };
  const VkCommandBuffer secondary =
      context().begin_secondary({.occlusionQueryEnable = VK_TRUE,
                                 .queryFlags = VK_QUERY_CONTROL_PRECISE_BIT,
                                 .pipelineStatistics = kClipped},
                                VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT);
  pass(secondary, 1);
  own.reset(secondary);
  own.begin(secondary);
  pass(secondary, 2);
  own.end(secondary);
  vkCmdCopyQueryPoolResults(secondary, own, 0, 1, copy, 0, 0,
                            VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT);
  pass(secondary, 4);
  check(vkEndCommandBuffer(secondary));
  for (int run = 0; run < 2; ++run) {
    copy.clear();
    context().run([&](VkCommandBuffer commands) {
      samples.reset(commands);
      vkCmdExecuteCommands(commands, 1,
                           &secondary);  // inherits a query that is not active, which is allowed
      samples.begin(commands, 0, VK_QUERY_CONTROL_PRECISE_BIT);
      for (int twice = 0; twice < 2; ++twice) {
        vkCmdExecuteCommands(commands, 1, &secondary);
        full_barrier(commands);
      }
      samples.end(commands);
    });
    EXPECT_EQ(own.read()[0], 2u);
    EXPECT_EQ(copy.as<uint64_t>()[0], 2u);
    EXPECT_EQ(samples.read()[0], 2u * (1 + 2 + 4) * 64 * 64);
  }
}

TALLY_EVERY_SOURCE(OwnQueries);

class InheritedQueries : public QueryTypes {};

// A driver's occlusion query cannot be inherited if the driver does not support that, whatever else
// the layer emulates.
TEST_F(InheritedQueries, are_offered_where_every_query_that_may_be_inherited_can) {
  start(false);
  const VkBool32 drivers = context().features().inheritedQueries;
  start(true, {}, {{"emulate_queries", ""}});
  EXPECT_EQ(context().features().inheritedQueries, drivers);
  start(true, {}, {{"emulate_queries", "statistics"}});
  EXPECT_EQ(context().features().inheritedQueries, drivers);
  start(true);
  EXPECT_TRUE(context().features().inheritedQueries);
}

// The driver's own queries with the layer loaded and all its features enabled but unused. A driver
// that cannot continue queries in secondary command buffers is replaced by one that claims to.
class DriversOwn : public QueryTypes {
 protected:
  void SetUp() override {
    start(false);
    if (!context().features().pipelineStatisticsQuery) GTEST_SKIP() << "the driver has none";
    claims_ = !context().features().inheritedQueries;
  }

  Context& start_driver(bool with_layer, const char* emulated_types = "") {
    ContextOptions options;
    if (claims_) options.driver_layers.push_back("VK_LAYER_TALLY_test_performance_driver");
    if (!with_layer) return start(false, options);
    options.device_extensions = {VK_ARM_SHADER_INSTRUMENTATION_EXTENSION_NAME,
                                 VK_ARM_PERFORMANCE_COUNTERS_BY_REGION_EXTENSION_NAME,
                                 VK_KHR_PERFORMANCE_QUERY_EXTENSION_NAME,
                                 VK_INTEL_PERFORMANCE_QUERY_EXTENSION_NAME};
    VkPhysicalDeviceShaderInstrumentationFeaturesARM instrumentation{
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INSTRUMENTATION_FEATURES_ARM, nullptr, VK_TRUE};
    VkPhysicalDevicePerformanceCountersByRegionFeaturesARM regions{
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PERFORMANCE_COUNTERS_BY_REGION_FEATURES_ARM,
        &instrumentation, VK_TRUE};
    VkPhysicalDevicePerformanceQueryFeaturesKHR performance{
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PERFORMANCE_QUERY_FEATURES_KHR, &regions, VK_TRUE};
    options.device_next = &performance;
    return start(true, options, {{"emulate_queries", emulated_types}});
  }

  // Statistics of dispatches in a primary command buffer and in a secondary one that inherits them:
  // copied twice, with a reset in between, and read by the host.
  std::vector<uint64_t> inherited() {
    const Pipeline pipeline = make_work();
    const Queries queries(context(), kStatistics, 1, kInvocations);
    const Buffer copies(context(), 16, VK_BUFFER_USAGE_TRANSFER_DST_BIT);
    const VkCommandBuffer secondary =
        context().begin_secondary({.pipelineStatistics = kInvocations});
    dispatch(secondary, pipeline, 3);
    check(vkEndCommandBuffer(secondary));
    for (uint32_t i = 0; i < 2; ++i) {
      context().run([&](VkCommandBuffer commands) {
        queries.reset(commands);
        queries.begin(commands);
        dispatch(commands, pipeline, 1 + i);
        vkCmdExecuteCommands(commands, 1, &secondary);
        full_barrier(commands);
        queries.end(commands);
        vkCmdCopyQueryPoolResults(commands, queries, 0, 1, copies, 8 * i, 0,
                                  VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT);
        full_barrier(commands);
      });
    }
    const auto copied = copies.as<uint64_t>();
    return {copied[0], copied[1], queries.read()[0]};
  }

  // The same with an occlusion query of a draw in each command buffer.
  std::vector<uint64_t> with_samples() {
    const Pipeline pipeline = make_work();
    const Pipeline triangle = make_graphics({{kVertex, full_screen_vert}, {kFragment, plain_frag}});
    const RenderTarget target(context());
    const Queries statistics(context(), kStatistics, 1, kInvocations);
    const Queries samples(context(), VK_QUERY_TYPE_OCCLUSION, 2);
    const auto query = [&](VkCommandBuffer commands, uint32_t index, uint32_t triangles) {
      samples.begin(commands, index, VK_QUERY_CONTROL_PRECISE_BIT);
      target.begin(commands);
      draw(commands, triangle, 3, triangles);
      target.end(commands);
      samples.end(commands, index);
    };
    const VkCommandBuffer secondary =
        context().begin_secondary({.pipelineStatistics = kInvocations});
    dispatch(secondary, pipeline, 3);
    query(secondary, 1, 2);
    check(vkEndCommandBuffer(secondary));
    context().run([&](VkCommandBuffer commands) {
      statistics.reset(commands);
      samples.reset(commands);
      statistics.begin(commands);
      query(commands, 0, 1);
      dispatch(commands, pipeline, 1);
      vkCmdExecuteCommands(commands, 1, &secondary);
      full_barrier(commands);
      statistics.end(commands);
    });
    return {statistics.read()[0], samples.read(0)[0], samples.read(1)[0]};
  }

 private:
  bool claims_ = false;
};

TEST_F(DriversOwn, statistics_are_inherited_as_without_the_layer) {
  start_driver(false);
  const std::vector<uint64_t> alone = inherited();
  EXPECT_THAT(alone, testing::ElementsAre(4 * kInvocationsOfGroup, 5 * kInvocationsOfGroup,
                                          5 * kInvocationsOfGroup));
  start_driver(true);
  EXPECT_EQ(inherited(), alone);
}

TEST_F(DriversOwn, statistics_count_nothing_of_what_the_layer_dispatches_for_its_queries) {
  const std::vector<uint64_t> expected{4 * kInvocationsOfGroup, 64 * 64, 2 * 64 * 64};
  start_driver(false);
  EXPECT_EQ(with_samples(), expected);
  start_driver(true, "occlusion");
  EXPECT_EQ(with_samples(), expected);
}

}  // namespace
}  // namespace tally::test
