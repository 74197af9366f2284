// Pipeline statistics queries: what each bit counts, compared with the driver's values and with
// values computed by hand.
#include "amplify.geom.h"
#include "api/queries/scenes.h"
#include "full_screen.vert.h"
#include "level.tesc.h"
#include "level.tese.h"
#include "patch.vert.h"
#include "plain.frag.h"
#include "tiny_triangles.vert.h"

namespace tally::test {
namespace {

class PipelineStatistics : public QueryTypes {};

TEST_F(PipelineStatistics, of_triangles_are_the_drivers) {
  const auto scene = [&] {
    const Pipeline pipeline =
        make_graphics({{kVertex, tiny_triangles_vert}, {kFragment, plain_frag}});
    return drawn([&](VkCommandBuffer commands) { draw(commands, pipeline, 3 * 1000); });
  };
  start();
  const auto ours = scene();
  EXPECT_EQ(ours[kAssembledVertices], 3000u);
  EXPECT_EQ(ours[kAssembledPrimitives], 1000u);
  EXPECT_EQ(ours[kVertexInvocations], 3000u);
  EXPECT_EQ(ours[kClippingInvocations], 1000u);
  EXPECT_EQ(ours[kClippingPrimitives], 1000u);
  EXPECT_EQ(ours[kComputeInvocations], 0u);
  const auto drivers = of_driver(scene);
  if (has(drivers)) {
    expect_equal(ours, drivers);
  }
}

TEST_F(PipelineStatistics, of_a_strip_count_every_instance) {
  start();
  GraphicsPipelineInfo strip;
  strip.topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_STRIP;
  const Pipeline pipeline =
      make_graphics({{kVertex, tiny_triangles_vert}, {kFragment, plain_frag}}, strip);
  const auto numbers = drawn([&](VkCommandBuffer commands) { draw(commands, pipeline, 10, 7); });
  EXPECT_EQ(numbers[kAssembledVertices], 70u);
  EXPECT_EQ(numbers[kAssembledPrimitives], 8u * 7);
  EXPECT_EQ(numbers[kClippingInvocations], 8u * 7);
}

TEST_F(PipelineStatistics, of_geometry_shaders_count_what_they_emit) {
  const auto scene = [&] {
    const Pipeline pipeline =
        make_graphics({{kVertex, patch_vert}, {kGeometry, amplify_geom}, {kFragment, plain_frag}});
    return drawn([&](VkCommandBuffer commands) { draw(commands, pipeline, 3 * 6); });
  };
  start();
  if (!context().features().geometryShader) GTEST_SKIP() << "no geometry shaders";
  auto ours = scene();
  EXPECT_EQ(ours[kGeometryInvocations], 6u * 2);
  EXPECT_EQ(ours[kGeometryPrimitives], 6u * 2 * 4);
  EXPECT_EQ(ours[kClippingInvocations], 6u * 2 * 4);
  auto drivers = of_driver(scene);
  if (!has(drivers)) return;
  // lavapipe 22.3 does not multiply by the shader's invocations.
  if (drivers[kGeometryInvocations] == 6) drivers[kGeometryInvocations] *= 2;
  expect_equal(ours, drivers);
}

TEST_F(PipelineStatistics, of_tessellation_are_the_drivers) {
  const auto scene = [&] {
    GraphicsPipelineInfo patches;
    patches.topology = VK_PRIMITIVE_TOPOLOGY_PATCH_LIST;
    patches.patch_control_points = 3;
    const Pipeline pipeline = make_graphics({{kVertex, patch_vert},
                                             {kControl, level_tesc},
                                             {kEvaluation, level_tese},
                                             {kFragment, plain_frag}},
                                            patches);
    return drawn([&](VkCommandBuffer commands) { draw(commands, pipeline, 3 * 5); });
  };
  start();
  if (!context().features().tessellationShader) GTEST_SKIP() << "no tessellation";
  const auto ours = scene();
  EXPECT_EQ(ours[kPatches], 5u);
  EXPECT_EQ(ours[kClippingInvocations], 5u * 24);
  const auto drivers = of_driver(scene);
  if (!has(drivers)) return;
  expect_equal(ours, drivers);
}

TEST_F(PipelineStatistics, of_dispatches_are_the_drivers) {
  const auto scene = [&] {
    const Pipeline pipeline = make_work();
    return statistics([&](VkCommandBuffer commands) {
      dispatch(commands, pipeline, 5);
      dispatch(commands, pipeline, 2);
    });
  };
  start();
  const auto ours = scene();
  EXPECT_EQ(ours[kComputeInvocations], 7u * 8);
  const auto drivers = of_driver(scene);
  if (has(drivers)) {
    expect_equal(ours, drivers);
  }
}

TEST_F(PipelineStatistics, of_commands_with_arguments_in_a_buffer_are_counted_on_the_gpu) {
  const auto scene = [&] {
    const Pipeline graphics =
        make_graphics({{kVertex, tiny_triangles_vert}, {kFragment, plain_frag}});
    const Pipeline compute = make_work();
    const Buffer arguments(context(), 256,
                           VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT);
    const RenderTarget target(context());
    // Three draws; the last one is only executed if the draw count is not read from a buffer.
    const uint32_t draws[] = {30, 2, 0, 0, 6, 1, 0, 0, 300, 1, 0, 0};
    const uint32_t groups[] = {2, 3, 1};
    return statistics([&](VkCommandBuffer commands) {
      vkCmdUpdateBuffer(commands, arguments, 0, sizeof draws, draws);
      vkCmdUpdateBuffer(commands, arguments, 64, sizeof groups, groups);
      full_barrier(commands);
      dispatch_indirect(commands, compute, arguments, 64);
      // Memory that the command has read may be changed.
      vkCmdFillBuffer(commands, arguments, 64, 12, 1);
      full_barrier(commands);
      target.begin(commands);
      vkCmdBindPipeline(commands, kGraphics, graphics);
      vkCmdDrawIndirect(commands, arguments, 0, 3, 16);
      target.end(commands);
      full_barrier(commands);
    });
  };
  start();
  if (!context().features().multiDrawIndirect) GTEST_SKIP() << "no multi-draw";
  const auto ours = scene();
  EXPECT_EQ(ours[kAssembledVertices], 60u + 6 + 300);
  EXPECT_EQ(ours[kAssembledPrimitives], 20u + 2 + 100);
  EXPECT_EQ(ours[kClippingInvocations], 20u + 2 + 100);
  EXPECT_EQ(ours[kComputeInvocations], 6u * 8);
  const auto drivers = of_driver(scene);
  if (has(drivers)) {
    expect_equal(ours, drivers);
  }
}

TEST_F(PipelineStatistics, of_as_many_draws_as_a_buffer_says) {
  start();
  VkPhysicalDeviceVulkan12Features core{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES};
  VkPhysicalDeviceFeatures2 features{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, &core};
  vkGetPhysicalDeviceFeatures2(context().gpu(), &features);
  if (!core.drawIndirectCount) GTEST_SKIP() << "no drawIndirectCount";
  const auto scene = [&] {
    const Pipeline pipeline =
        make_graphics({{kVertex, tiny_triangles_vert}, {kFragment, plain_frag}});
    const Buffer arguments(context(), 64, VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT);
    const uint32_t words[] = {30, 2, 0, 0, 6, 1, 0, 0, 300, 1, 0, 0, 2};
    std::ranges::copy(words, arguments.as<uint32_t>().begin());
    return drawn([&](VkCommandBuffer commands) {
      vkCmdBindPipeline(commands, kGraphics, pipeline);
      vkCmdDrawIndirectCount(commands, arguments, 0, arguments, 48, 3, 16);
    });
  };
  const auto ours = scene();
  EXPECT_EQ(ours[kAssembledVertices], 60u + 6);
  expect_vertices(ours[kVertexInvocations], 60u + 6);
  const auto drivers = of_driver(scene);
  if (has(drivers)) {
    expect_equal(ours, drivers);
  }
}

TEST_F(PipelineStatistics, of_the_clipper_are_zero_without_rasterization) {
  start();
  GraphicsPipelineInfo discarding;
  discarding.rasterizer_discard = true;
  const Pipeline pipeline = make_graphics({{kVertex, tiny_triangles_vert}}, discarding);
  const auto numbers = drawn([&](VkCommandBuffer commands) { draw(commands, pipeline, 30); });
  EXPECT_EQ(numbers[kVertexInvocations], 30u);
  EXPECT_EQ(numbers[kClippingInvocations], 0u);
}

class StatisticBits : public EverySource {
 protected:
  void SetUp() override {
    start_source();
    if (!context().features().pipelineStatisticsQuery) GTEST_SKIP() << "the driver has none";
  }
  std::vector<uint64_t> count(VkQueryPipelineStatisticFlags bits, VkPipeline graphics,
                              VkPipeline compute) {
    const RenderTarget target(context());
    const Queries queries(context(), VK_QUERY_TYPE_PIPELINE_STATISTICS, 1, bits);
    context().run([&](VkCommandBuffer commands) {
      queries.reset(commands);
      queries.begin(commands);
      if (compute) dispatch(commands, compute, 3);
      if (graphics) {
        target.begin(commands);
        draw(commands, graphics, 3 * 20);
        target.end(commands);
      }
      queries.end(commands);
    });
    return queries.read();
  }
};

TEST_P(StatisticBits, stand_in_their_order_whichever_are_asked_for) {
  const Pipeline graphics =
      make_graphics({{kVertex, tiny_triangles_vert}, {kFragment, plain_frag}});
  const Pipeline compute = make_work();
  const auto all = count(kAllStatistics, graphics, compute);
  ASSERT_EQ(all.size(), kStatisticBits);
  for (uint32_t bit = 0; bit < kStatisticBits; ++bit) {
    EXPECT_THAT(count(1u << bit, graphics, compute), testing::ElementsAre(all[bit])) << bit;
  }
  constexpr uint32_t kSome =
      1u << kComputeInvocations | 1u << kAssembledVertices | 1u << kClippingInvocations;
  EXPECT_THAT(count(kSome, graphics, compute), testing::ElementsAre(60, 20, 24));
}

TEST_P(StatisticBits, of_stages_that_do_not_run_are_zero) {
  const Pipeline graphics =
      make_graphics({{kVertex, tiny_triangles_vert}, {kFragment, plain_frag}});
  const Pipeline compute = make_work();
  auto dispatched = count(kAllStatistics, VK_NULL_HANDLE, compute);
  EXPECT_EQ(dispatched[kComputeInvocations], 24u);
  dispatched[kComputeInvocations] = 0;
  EXPECT_THAT(dispatched, testing::Each(0u));
  const auto drawn = count(kAllStatistics, graphics, VK_NULL_HANDLE);
  for (const size_t bit :
       {size_t{kGeometryInvocations}, size_t{kGeometryPrimitives}, size_t{kPatches},
        size_t{kEvaluationInvocations}, size_t{kComputeInvocations}}) {
    EXPECT_EQ(drawn[bit], 0u) << bit;
  }
}

TALLY_EVERY_SOURCE(StatisticBits);

}  // namespace
}  // namespace tally::test
