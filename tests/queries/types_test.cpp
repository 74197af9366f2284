// What the queries of each type count: the driver's own numbers, and numbers worked out by hand.
#include "amplify.geom.h"
#include "discard.frag.h"
#include "full_screen.vert.h"
#include "level.tesc.h"
#include "level.tese.h"
#include "patch.vert.h"
#include "plain.frag.h"
#include "queries/kit.h"
#include "rectangle.vert.h"
#include "support/environment.h"
#include "tiny_triangles.vert.h"

namespace tally::test {
namespace {

constexpr VkShaderStageFlagBits kVertex = VK_SHADER_STAGE_VERTEX_BIT;
constexpr VkShaderStageFlagBits kFragment = VK_SHADER_STAGE_FRAGMENT_BIT;
constexpr VkShaderStageFlagBits kGeometry = VK_SHADER_STAGE_GEOMETRY_BIT;
constexpr VkShaderStageFlagBits kControl = VK_SHADER_STAGE_TESSELLATION_CONTROL_BIT;
constexpr VkShaderStageFlagBits kEvaluation = VK_SHADER_STAGE_TESSELLATION_EVALUATION_BIT;

// Places of the bits in the results.
enum Statistic : size_t {
  kAssembledVertices,
  kAssembledPrimitives,
  kVertexInvocations,
  kGeometryInvocations,
  kGeometryPrimitives,
  kClippingInvocations,
  kClippingPrimitives,
  kFragmentInvocations,
  kPatches,
  kEvaluationInvocations,
  kComputeInvocations
};

class QueryTypes : public QueriesTest {
 protected:
  // The statistics of what `record` does between begin and end.
  template <typename Record>
  std::vector<uint64_t> statistics(Record&& record) {
    const Queries queries(context(), VK_QUERY_TYPE_PIPELINE_STATISTICS, 1, kAllStatistics);
    context().run([&](VkCommandBuffer commands) {
      queries.reset(commands);
      queries.begin(commands);
      record(commands);
      queries.end(commands);
    });
    return queries.read();
  }

  // Of a pass over a target of 64 x 64.
  template <typename Draw>
  std::vector<uint64_t> drawn(Draw&& draw_all) {
    const RenderTarget target(context());
    return statistics([&](VkCommandBuffer commands) {
      target.begin(commands);
      draw_all(commands);
      target.end(commands);
    });
  }

  void draw(VkCommandBuffer commands, VkPipeline pipeline, uint32_t vertices,
            uint32_t instances = 1, float level = 4) {
    vkCmdBindPipeline(commands, kGraphics, pipeline);
    vkCmdPushConstants(commands, layout(), VK_SHADER_STAGE_ALL, 0, sizeof level, &level);
    vkCmdDraw(commands, vertices, instances, 0, 0);
  }

  // The same with the driver's own queries; nothing where it has none.
  template <typename Scene>
  std::vector<uint64_t> of_driver(Scene&& scene) {
    start(false);
    return context().features().pipelineStatisticsQuery ? scene() : std::vector<uint64_t>{};
  }

  // lavapipe 22.3 counts all lanes that run: fragments that the triangle does not cover, too.
  static void expect_equal(std::vector<uint64_t> ours, const std::vector<uint64_t>& drivers) {
    if (driver_name() == "lavapipe") {
      EXPECT_LE(ours[kFragmentInvocations], drivers[kFragmentInvocations]);
      ours[kFragmentInvocations] = drivers[kFragmentInvocations];
    }
    EXPECT_EQ(ours, drivers);
  }

  static bool has(const std::vector<uint64_t>& numbers) { return !numbers.empty(); }
};

TEST_F(QueryTypes, statistics_of_triangles_are_the_drivers) {
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

TEST_F(QueryTypes, statistics_of_a_strip_count_every_instance) {
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

TEST_F(QueryTypes, statistics_of_geometry_shaders_count_what_they_emit) {
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

TEST_F(QueryTypes, statistics_of_tessellation_are_the_drivers) {
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
  auto ours = scene();
  EXPECT_EQ(ours[kPatches], 5u);
  auto drivers = of_driver(scene);
  if (!has(drivers)) return;
  // What the tessellator makes of a patch the layer cannot see.
  ours[kClippingInvocations] = drivers[kClippingInvocations];
  ours[kClippingPrimitives] = drivers[kClippingPrimitives];
  expect_equal(ours, drivers);
}

TEST_F(QueryTypes, statistics_of_dispatches_are_the_drivers) {
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

TEST_F(QueryTypes, rasterization_that_is_off_reaches_no_clipper) {
  start();
  GraphicsPipelineInfo discarding;
  discarding.rasterizer_discard = true;
  const Pipeline pipeline = make_graphics({{kVertex, tiny_triangles_vert}}, discarding);
  const auto numbers = drawn([&](VkCommandBuffer commands) { draw(commands, pipeline, 30); });
  EXPECT_EQ(numbers[kVertexInvocations], 30u);
  EXPECT_EQ(numbers[kClippingInvocations], 0u);
}

TEST_F(QueryTypes, occlusion_counts_samples_that_are_drawn) {
  const auto scene = [&](VkSampleCountFlagBits samples) {
    const RenderTarget target(context(), {.samples = samples});
    GraphicsPipelineInfo info;
    info.samples = samples;
    const Pipeline pipeline =
        make_graphics({{kVertex, tiny_triangles_vert}, {kFragment, plain_frag}}, info);
    const Queries queries(context(), VK_QUERY_TYPE_OCCLUSION);
    context().run([&](VkCommandBuffer commands) {
      queries.reset(commands);
      target.begin(commands);
      queries.begin(commands, 0, VK_QUERY_CONTROL_PRECISE_BIT);
      draw(commands, pipeline, 3 * 1000);
      queries.end(commands);
      target.end(commands);
    });
    return queries.read();
  };
  for (const VkSampleCountFlagBits samples : {VK_SAMPLE_COUNT_1_BIT, VK_SAMPLE_COUNT_4_BIT}) {
    start(false);
    const auto drivers = scene(samples);
    start();
    EXPECT_EQ(scene(samples), drivers) << samples;
  }
}

TEST_F(QueryTypes, occlusion_does_not_count_what_is_behind_or_discarded) {
  const auto scene = [&](std::span<const uint32_t> fragment) {
    const RenderTarget target(context(), {.depth_format = VK_FORMAT_D32_SFLOAT});
    GraphicsPipelineInfo info;
    info.depth_format = VK_FORMAT_D32_SFLOAT;
    info.depth_test = info.depth_write = true;
    const Pipeline pipeline =
        make_graphics({{kVertex, tiny_triangles_vert}, {kFragment, fragment}}, info);
    const Queries queries(context(), VK_QUERY_TYPE_OCCLUSION);
    context().run([&](VkCommandBuffer commands) {
      queries.reset(commands);
      target.begin(commands);
      draw(commands, pipeline, 3 * 100);
      queries.begin(commands, 0, VK_QUERY_CONTROL_PRECISE_BIT);
      draw(commands, pipeline, 3 * 200);  // half of it is there already
      queries.end(commands);
      target.end(commands);
    });
    return queries.read();
  };
  start(false);
  const auto drivers = scene(plain_frag);
  EXPECT_GT(drivers[0], 0u);
  start();
  EXPECT_EQ(scene(plain_frag), drivers);
}

TEST_F(QueryTypes, discarded_fragments_cover_no_samples) {
  start();
  const RenderTarget target(context());
  const Pipeline pipeline = make_graphics({{kVertex, full_screen_vert}, {kFragment, discard_frag}});
  const Queries queries(context(), VK_QUERY_TYPE_OCCLUSION);
  context().run([&](VkCommandBuffer commands) {
    queries.reset(commands);
    target.begin(commands);
    queries.begin(commands, 0, VK_QUERY_CONTROL_PRECISE_BIT);
    draw(commands, pipeline, 3);
    queries.end(commands);
    target.end(commands);
  });
  EXPECT_EQ(queries.read()[0], 64u * 64 / 2);
}

}  // namespace
}  // namespace tally::test
