// Query operation: reset, active, available; across command buffers, passes and submissions.
#include <cstdlib>

#include "api/queries/scenes.h"
#include "full_screen.vert.h"
#include "plain.frag.h"
#include "support/environment.h"

namespace tally::test {
namespace {

class QueryStates : public EverySource {
 protected:
  VkResult state_of(const Queries& queries, uint32_t query = 0) {
    uint64_t number = 0;
    return vkGetQueryPoolResults(context().device(), queries, query, 1, sizeof number, &number,
                                 sizeof number, VK_QUERY_RESULT_64_BIT);
  }
};

class QueryOperation : public QueryStates {
 protected:
  void SetUp() override {
    start_source();
    if (!context().features().pipelineStatisticsQuery) GTEST_SKIP() << "the driver has none";
  }
};

TEST_P(QueryOperation, resetting_makes_a_query_unavailable_and_its_end_available) {
  const Pipeline pipeline = make_work();
  const Queries queries(context(), kStatistics, 2, kInvocations);
  context().run([&](VkCommandBuffer commands) {
    queries.reset(commands);
    queries.begin(commands, 1);
    dispatch(commands, pipeline, 3);
    queries.end(commands, 1);
  });
  EXPECT_EQ(state_of(queries, 0), VK_NOT_READY);
  EXPECT_EQ(state_of(queries, 1), VK_SUCCESS);
  EXPECT_EQ(queries.read(1)[0], 24u);
  context().run([&](VkCommandBuffer commands) { queries.reset(commands); });
  EXPECT_EQ(state_of(queries, 1), VK_NOT_READY);
}

TEST_P(QueryOperation, the_host_resets_as_commands_do) {
  const Pipeline pipeline = make_work();
  const Queries queries(context(), kStatistics, 1, kInvocations);
  const auto record = [&](VkCommandBuffer commands) {
    queries.begin(commands);
    dispatch(commands, pipeline, 2);
    queries.end(commands);
  };
  vkResetQueryPool(context().device(), queries, 0, 1);
  context().run(record);
  EXPECT_EQ(queries.read()[0], 16u);
  vkResetQueryPool(context().device(), queries, 0, 1);
  EXPECT_EQ(state_of(queries), VK_NOT_READY);
  context().run(record);
  EXPECT_EQ(queries.read()[0], 16u);
}

TEST_P(QueryOperation, a_command_buffer_that_is_submitted_again_counts_again) {
  const Pipeline pipeline = make_work();
  const Queries queries(context(), kStatistics, 1, kInvocations);
  VkCommandBuffer commands = context().begin_commands(0);
  queries.reset(commands);
  queries.begin(commands);
  dispatch(commands, pipeline, 4);
  queries.end(commands);
  check(vkEndCommandBuffer(commands));
  for (int i = 0; i < 3; ++i) {
    context().submit_and_wait(commands);
    EXPECT_EQ(queries.read()[0], 32u);
  }
}

TEST_P(QueryOperation, only_work_between_begin_and_end_counts) {
  if (!emulated() && driver_name() == "lavapipe") {
    GTEST_SKIP() << "lavapipe 22.3 crashes where a dispatch stands before a statistics query";
  }
  const Pipeline pipeline = make_work();
  const Queries queries(context(), kStatistics, 2, kInvocations);
  context().run([&](VkCommandBuffer commands) {
    queries.reset(commands);
    dispatch(commands, pipeline, 100);
    queries.begin(commands, 0);
    dispatch(commands, pipeline, 1);
    queries.end(commands, 0);
    dispatch(commands, pipeline, 100);
    queries.begin(commands, 1);
    dispatch(commands, pipeline, 5);
    queries.end(commands, 1);
    dispatch(commands, pipeline, 100);
  });
  EXPECT_EQ(queries.read(0)[0], 8u);
  EXPECT_EQ(queries.read(1)[0], 40u);
}

TEST_P(QueryOperation, queries_of_several_types_overlap) {
  const Pipeline pipeline = make_graphics(
      {{VK_SHADER_STAGE_VERTEX_BIT, full_screen_vert}, {VK_SHADER_STAGE_FRAGMENT_BIT, plain_frag}});
  const RenderTarget target(context());
  const Queries samples(context(), VK_QUERY_TYPE_OCCLUSION);
  const Queries clipped(context(), kStatistics, 1,
                        VK_QUERY_PIPELINE_STATISTIC_CLIPPING_INVOCATIONS_BIT);
  context().run([&](VkCommandBuffer commands) {
    samples.reset(commands);
    clipped.reset(commands);
    target.begin(commands);
    vkCmdBindPipeline(commands, kGraphics, pipeline);
    samples.begin(commands, 0, VK_QUERY_CONTROL_PRECISE_BIT);
    vkCmdDraw(commands, 3, 1, 0, 0);
    clipped.begin(commands);
    vkCmdDraw(commands, 3, 1, 0, 0);
    samples.end(commands);
    vkCmdDraw(commands, 3, 2, 0, 0);
    clipped.end(commands);
    target.end(commands);
  });
  EXPECT_EQ(samples.read()[0], 2u * 64 * 64);
  EXPECT_EQ(clipped.read()[0], 3u);
}

TEST_P(QueryOperation, secondary_command_buffers_go_on_with_the_primarys_query) {
  if (!context().features().inheritedQueries) {
    ASSERT_FALSE(emulated()) << "the layer has them where the driver has none";
    GTEST_SKIP() << "no inherited queries";
  }
  const Pipeline pipeline = make_work();
  const Queries queries(context(), kStatistics, 1, kInvocations);
  const VkCommandBufferAllocateInfo allocation{VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                               nullptr, context().command_pool(),
                                               VK_COMMAND_BUFFER_LEVEL_SECONDARY, 2};
  VkCommandBuffer secondaries[2] = {};
  check(vkAllocateCommandBuffers(context().device(), &allocation, secondaries));
  VkCommandBufferInheritanceInfo inheritance{VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_INFO};
  inheritance.pipelineStatistics = kInvocations;
  const VkCommandBufferBeginInfo begin{VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO, nullptr, 0,
                                       &inheritance};
  for (const VkCommandBuffer secondary : secondaries) {
    check(vkBeginCommandBuffer(secondary, &begin));
    dispatch(secondary, pipeline, 3);
    check(vkEndCommandBuffer(secondary));
  }
  for (int i = 0; i < 2; ++i) {
    context().run([&](VkCommandBuffer commands) {
      queries.reset(commands);
      vkCmdExecuteCommands(commands, 1, &secondaries[0]);
      queries.begin(commands);
      dispatch(commands, pipeline, 1);
      vkCmdExecuteCommands(commands, 1, &secondaries[1]);
      queries.end(commands);
    });
    EXPECT_EQ(queries.read()[0], (1u + 3) * 8);
  }
}

TEST_P(QueryOperation, secondary_command_buffers_have_queries_of_their_own) {
  const Pipeline pipeline = make_graphics(
      {{VK_SHADER_STAGE_VERTEX_BIT, full_screen_vert}, {VK_SHADER_STAGE_FRAGMENT_BIT, plain_frag}});
  const RenderTarget target(context());
  const Queries queries(context(), VK_QUERY_TYPE_OCCLUSION);
  const VkCommandBuffer secondary = begin_secondary(target);
  target.set_viewport(secondary);
  vkCmdBindPipeline(secondary, kGraphics, pipeline);
  queries.begin(secondary, 0, VK_QUERY_CONTROL_PRECISE_BIT);
  vkCmdDraw(secondary, 3, 1, 0, 0);
  queries.end(secondary);
  check(vkEndCommandBuffer(secondary));
  context().run([&](VkCommandBuffer commands) {
    queries.reset(commands);
    target.begin(commands, {}, VK_RENDERING_CONTENTS_SECONDARY_COMMAND_BUFFERS_BIT);
    vkCmdExecuteCommands(commands, 1, &secondary);
    target.end(commands);
  });
  EXPECT_EQ(queries.read()[0], 64u * 64);
}

TEST_P(QueryOperation, a_secondary_command_buffer_resets_and_copies_its_own_queries) {
  if (!emulated() && driver_name() == "lavapipe") {
    GTEST_SKIP() << "lavapipe 22.3 crashes where a dispatch stands before a statistics query";
  }
  const Pipeline pipeline = make_work();
  const Queries queries(context(), kStatistics, 1, kInvocations);
  const Buffer copies(context(), 32, VK_BUFFER_USAGE_TRANSFER_DST_BIT);
  const VkCommandBuffer secondary = context().begin_secondary();
  for (const uint32_t groups : {3u, 5u}) {
    queries.reset(secondary);
    queries.begin(secondary);
    dispatch(secondary, pipeline, groups);
    queries.end(secondary);
    vkCmdCopyQueryPoolResults(
        secondary, queries, 0, 1, copies, groups == 3 ? 0 : 16, 16,
        VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT | VK_QUERY_RESULT_WITH_AVAILABILITY_BIT);
    full_barrier(secondary);
  }
  check(vkEndCommandBuffer(secondary));
  for (int i = 0; i < 2; ++i) {
    context().run([&](VkCommandBuffer commands) {
      vkCmdExecuteCommands(commands, 1, &secondary);
      full_barrier(commands);
    });
    EXPECT_EQ(queries.read()[0], 5u * 8);
    EXPECT_EQ(copies.as<uint64_t>()[0], 3u * 8);
    EXPECT_NE(copies.as<uint64_t>()[1], 0u);
    EXPECT_EQ(copies.as<uint64_t>()[2], 5u * 8);
  }
}

// Makes lavapipe run workgroups in parallel, whatever the processor.
class ManyThreads : public QueryStates {
 protected:
  void SetUp() override {
    const bool given = std::getenv("LP_NUM_THREADS") != nullptr;
    if (!given) set_variable("LP_NUM_THREADS", "16");
    start_source();
    if (!given) unset_variable("LP_NUM_THREADS");
  }
};

TEST_P(ManyThreads, a_secondary_command_buffer_counts_as_often_as_it_is_executed) {
  if (!context().features().inheritedQueries) {
    ASSERT_FALSE(emulated()) << "the layer has them where the driver has none";
    GTEST_SKIP() << "no inherited queries";
  }
  const Pipeline pipeline = make_graphics(
      {{VK_SHADER_STAGE_VERTEX_BIT, full_screen_vert}, {VK_SHADER_STAGE_FRAGMENT_BIT, plain_frag}});
  const RenderTarget target(context());
  const Queries queries(context(), VK_QUERY_TYPE_OCCLUSION);
  const VkCommandBuffer secondary = begin_secondary(
      target, VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT,
      {.occlusionQueryEnable = VK_TRUE, .queryFlags = VK_QUERY_CONTROL_PRECISE_BIT});
  target.set_viewport(secondary);
  vkCmdBindPipeline(secondary, kGraphics, pipeline);
  vkCmdDraw(secondary, 3, 1, 0, 0);
  check(vkEndCommandBuffer(secondary));
  const std::vector<VkCommandBuffer> often(16, secondary);
  for (int i = 0; i < 20; ++i) {
    context().run([&](VkCommandBuffer commands) {
      queries.reset(commands);
      queries.begin(commands, 0, VK_QUERY_CONTROL_PRECISE_BIT);
      target.begin(commands, {}, VK_RENDERING_CONTENTS_SECONDARY_COMMAND_BUFFERS_BIT);
      vkCmdExecuteCommands(commands, 16, often.data());
      target.end(commands);
      queries.end(commands);
    });
    ASSERT_EQ(queries.read()[0], 16u * 64 * 64);
  }
}

TALLY_EVERY_SOURCE(ManyThreads);

// Conditional rendering skips draws and dispatches, but not queries or copies of their results.
class ConditionedQueries : public QueryStates {
 protected:
  void SetUp() override {
    start(false);
    if (!context().has_extension(VK_EXT_CONDITIONAL_RENDERING_EXTENSION_NAME) ||
        !context().features().pipelineStatisticsQuery) {
      GTEST_SKIP() << "the driver has no conditional rendering, or no statistics";
    }
    start_source({.device_extensions = {VK_EXT_CONDITIONAL_RENDERING_EXTENSION_NAME},
                  .device_next = &feature_});
  }
  // Runs `record`; draws and dispatches are skipped if the condition is 0.
  template <typename Record>
  void with_condition(VkCommandBuffer commands, VkBuffer condition, Record&& record) {
    const VkConditionalRenderingBeginInfoEXT info{
        VK_STRUCTURE_TYPE_CONDITIONAL_RENDERING_BEGIN_INFO_EXT, nullptr, condition, 0, 0};
    context().function<PFN_vkCmdBeginConditionalRenderingEXT>("vkCmdBeginConditionalRenderingEXT")(
        commands, &info);
    record();
    context().function<PFN_vkCmdEndConditionalRenderingEXT>("vkCmdEndConditionalRenderingEXT")(
        commands);
  }

 private:
  VkPhysicalDeviceConditionalRenderingFeaturesEXT feature_{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_CONDITIONAL_RENDERING_FEATURES_EXT, nullptr, VK_TRUE};
};

TEST_P(ConditionedQueries, end_and_are_copied_whatever_the_condition) {
  if (!emulated() && driver_name() == "nvidia") {
    GTEST_SKIP() << "NVIDIA's statistics count dispatches that the condition discards";
  }
  const Pipeline pipeline = make_work();
  for (const uint32_t condition : {0u, 1u}) {
    const Queries queries(context(), kStatistics, 1, kInvocations);
    const Buffer predicate(context(), 4, VK_BUFFER_USAGE_CONDITIONAL_RENDERING_BIT_EXT);
    predicate.as<uint32_t>()[0] = condition;
    const Buffer copy(context(), 16, VK_BUFFER_USAGE_TRANSFER_DST_BIT);
    context().run([&](VkCommandBuffer commands) {
      queries.reset(commands);
      with_condition(commands, predicate, [&] {
        queries.begin(commands);
        dispatch(commands, pipeline, 3);
        queries.end(commands);
        vkCmdCopyQueryPoolResults(commands, queries, 0, 1, copy, 0, 16,
                                  VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT |
                                      VK_QUERY_RESULT_WITH_AVAILABILITY_BIT);
        dispatch(commands, pipeline, 3);  // still conditional
      });
      full_barrier(commands);
    });
    ASSERT_EQ(state_of(queries), VK_SUCCESS);
    EXPECT_EQ(queries.read()[0], condition * 24u);
    EXPECT_EQ(copy.as<uint64_t>()[0], condition * 24u);
    EXPECT_NE(copy.as<uint64_t>()[1], 0u);
  }
}

TALLY_EVERY_SOURCE(ConditionedQueries);

TALLY_EVERY_SOURCE(QueryOperation);

class EmulatedOperation : public QueriesTest {};

TEST_F(EmulatedOperation, names_and_private_data_work_on_emulated_pools) {
  start(true, {.instance_extensions = {VK_EXT_DEBUG_UTILS_EXTENSION_NAME}});
  const Queries queries(context(), kStatistics, 1, kInvocations);
  const VkDebugUtilsObjectNameInfoEXT name{VK_STRUCTURE_TYPE_DEBUG_UTILS_OBJECT_NAME_INFO_EXT,
                                           nullptr, VK_OBJECT_TYPE_QUERY_POOL,
                                           (uint64_t)queries.handle(), "statistics"};
  EXPECT_EQ(context().function<PFN_vkSetDebugUtilsObjectNameEXT>("vkSetDebugUtilsObjectNameEXT")(
                context().device(), &name),
            VK_SUCCESS);
}

// Violates the specification, but is common.
TEST_F(EmulatedOperation, a_device_may_go_before_its_command_buffers) {
  if (validation_wanted()) GTEST_SKIP() << "the validation layer would say so";
  start();
  const Pipeline pipeline = make_work();
  VkQueryPool pool = VK_NULL_HANDLE;
  const VkQueryPoolCreateInfo info{
      VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO, nullptr, 0, kStatistics, 1, kInvocations};
  check(vkCreateQueryPool(context().device(), &info, nullptr, &pool));
  const VkCommandPoolCreateInfo pool_info{VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO, nullptr, 0,
                                          context().queue_family()};
  VkCommandPool left_behind = VK_NULL_HANDLE;
  check(vkCreateCommandPool(context().device(), &pool_info, nullptr, &left_behind));
  const VkCommandBufferAllocateInfo allocation{VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                               nullptr, left_behind,
                                               VK_COMMAND_BUFFER_LEVEL_PRIMARY, 1};
  VkCommandBuffer commands = VK_NULL_HANDLE;
  check(vkAllocateCommandBuffers(context().device(), &allocation, &commands));
  const VkCommandBufferBeginInfo begin{VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
  check(vkBeginCommandBuffer(commands, &begin));
  vkCmdBeginQuery(commands, pool, 0, 0);
  dispatch(commands, pipeline, 1);
  vkCmdEndQuery(commands, pool, 0);
}

TEST_F(EmulatedOperation, instrumentation_and_queries_count_the_same_work) {
  VkPhysicalDeviceShaderInstrumentationFeaturesARM feature = {
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INSTRUMENTATION_FEATURES_ARM, nullptr, VK_TRUE};
  start(true, {.device_extensions = {VK_ARM_SHADER_INSTRUMENTATION_EXTENSION_NAME},
               .device_next = &feature});
  const Pipeline pipeline = make_work(&kInstrument);
  const Pipeline plain = make_work();
  const Queries queries(context(), kStatistics, 2, kInvocations);
  const Instrumentation instrumentation(context());
  VkCommandBuffer commands = context().begin_commands(0);
  queries.reset(commands);
  queries.begin(commands, 0);
  dispatch(commands, pipeline, 1);
  instrumentation.begin(commands);
  dispatch(commands, pipeline, 2);
  queries.end(commands, 0);
  queries.begin(commands, 1);
  dispatch(commands, pipeline, 4);
  dispatch(commands, plain, 16);  // adds no blocks to the object
  instrumentation.end(commands);
  dispatch(commands, pipeline, 8);
  queries.end(commands, 1);
  check(vkEndCommandBuffer(commands));
  for (uint64_t times = 1; times <= 3; ++times) {
    context().submit_and_wait(commands);
    EXPECT_EQ(queries.read(0)[0], (1u + 2) * 8);
    EXPECT_EQ(queries.read(1)[0], (4u + 16 + 8) * 8);
    EXPECT_EQ(Counts(instrumentation, VK_SHADER_STAGE_COMPUTE_BIT, work_shader()).invocations(),
              (2u + 4) * 8 * times);
  }
  instrumentation.clear();
  context().submit_and_wait(commands);
  EXPECT_EQ(queries.read(0)[0], (1u + 2) * 8);
}

}  // namespace
}  // namespace tally::test
