// Queries on the streams of geometry shaders.
#include <array>

#include "api/queries/kit.h"
#include "level.tesc.h"
#include "level.tese.h"
#include "patch.vert.h"
#include "plain.frag.h"
#include "streams.geom.h"
#include "support/environment.h"
#include "support/stages.h"

namespace tally::test {
namespace {

class GeometryQueries : public QueriesTest {
 protected:
  // Creates a device with vertex streams and queries for them; returns false if they are not
  // supported.
  bool start_with_streams(bool emulated) {
    primitives_ = {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PRIMITIVES_GENERATED_QUERY_FEATURES_EXT};
    feedback_ = {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TRANSFORM_FEEDBACK_FEATURES_EXT};
    start(emulated);
    if (!context().has_extension(VK_EXT_TRANSFORM_FEEDBACK_EXTENSION_NAME) ||
        !context().has_extension(VK_EXT_PRIMITIVES_GENERATED_QUERY_EXTENSION_NAME)) {
      return false;
    }
    primitives_.pNext = &feedback_;
    VkPhysicalDeviceFeatures2 features{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, &primitives_};
    vkGetPhysicalDeviceFeatures2(context().gpu(), &features);
    if (!feedback_.geometryStreams || !primitives_.primitivesGeneratedQueryWithNonZeroStreams) {
      return false;
    }
    start(emulated, {.device_extensions = {VK_EXT_TRANSFORM_FEEDBACK_EXTENSION_NAME,
                                           VK_EXT_PRIMITIVES_GENERATED_QUERY_EXTENSION_NAME},
                     .device_next = &primitives_});
    return true;
  }

  VkPhysicalDevicePrimitivesGeneratedQueryFeaturesEXT primitives_{};
  VkPhysicalDeviceTransformFeedbackFeaturesEXT feedback_{};
};

constexpr uint32_t kStreams = 4;

TEST_F(GeometryQueries, primitives_generated_are_those_of_the_stream_that_is_asked_for) {
  const auto scene = [&] {
    GraphicsPipelineInfo points;
    points.topology = VK_PRIMITIVE_TOPOLOGY_POINT_LIST;
    const Pipeline pipeline = make_graphics(
        {{kVertex, patch_vert}, {kGeometry, streams_geom}, {kFragment, plain_frag}}, points);
    const RenderTarget target(context());
    const Queries queries(context(), VK_QUERY_TYPE_PRIMITIVES_GENERATED_EXT, kStreams);
    const auto begin =
        context().function<PFN_vkCmdBeginQueryIndexedEXT>("vkCmdBeginQueryIndexedEXT");
    const auto end = context().function<PFN_vkCmdEndQueryIndexedEXT>("vkCmdEndQueryIndexedEXT");
    context().run([&](VkCommandBuffer commands) {
      queries.reset(commands);
      target.begin(commands);
      vkCmdBindPipeline(commands, kGraphics, pipeline);
      for (uint32_t stream = 0; stream < kStreams; ++stream) {
        begin(commands, queries, stream, 0, stream);
      }
      vkCmdDraw(commands, 11, 1, 0, 0);
      for (uint32_t stream = 0; stream < kStreams; ++stream) {
        end(commands, queries, stream, stream);
      }
      target.end(commands);
    });
    std::vector<uint64_t> numbers;
    for (uint32_t stream = 0; stream < kStreams; ++stream) {
      numbers.push_back(queries.read(stream)[0]);
    }
    return numbers;
  };
  if (!start_with_streams(true)) GTEST_SKIP() << "no vertex streams";
  const auto ours = scene();
  EXPECT_EQ(ours, (std::vector<uint64_t>{6 + 3 * 4 + 3, 22, 0, 5}));
  if (!start_with_streams(false)) return;
  EXPECT_EQ(ours, scene());
}

TEST_F(GeometryQueries, primitives_of_geometry_shaders_are_those_of_all_streams) {
  const auto scene = [&] {
    GraphicsPipelineInfo points;
    points.topology = VK_PRIMITIVE_TOPOLOGY_POINT_LIST;
    const Pipeline pipeline = make_graphics(
        {{kVertex, patch_vert}, {kGeometry, streams_geom}, {kFragment, plain_frag}}, points);
    const RenderTarget target(context());
    const Queries queries(context(), VK_QUERY_TYPE_PIPELINE_STATISTICS, 1,
                          VK_QUERY_PIPELINE_STATISTIC_GEOMETRY_SHADER_PRIMITIVES_BIT |
                              VK_QUERY_PIPELINE_STATISTIC_CLIPPING_INVOCATIONS_BIT);
    context().run([&](VkCommandBuffer commands) {
      queries.reset(commands);
      target.begin(commands);
      vkCmdBindPipeline(commands, kGraphics, pipeline);
      queries.begin(commands);
      vkCmdDraw(commands, 11, 1, 0, 0);
      queries.end(commands);
      target.end(commands);
    });
    return queries.read();
  };
  if (!start_with_streams(true)) GTEST_SKIP() << "no vertex streams";
  const auto ours = scene();
  EXPECT_EQ(ours, (std::vector<uint64_t>{21 + 22 + 5, 21}));
  if (!start_with_streams(false)) return;
  EXPECT_EQ(ours, scene());
}

TEST_F(GeometryQueries, count_the_primitives_that_the_tessellator_makes) {
  primitives_ = {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PRIMITIVES_GENERATED_QUERY_FEATURES_EXT, nullptr,
                 VK_TRUE};
  start();
  if (!context().features().tessellationShader) GTEST_SKIP() << "no tessellation";
  ContextOptions options{.device_extensions = {VK_EXT_PRIMITIVES_GENERATED_QUERY_EXTENSION_NAME},
                         .device_next = &primitives_};
  if (context().has_extension(VK_EXT_TRANSFORM_FEEDBACK_EXTENSION_NAME)) {
    options.device_extensions.push_back(VK_EXT_TRANSFORM_FEEDBACK_EXTENSION_NAME);
  }
  start(true, options);
  GraphicsPipelineInfo patches;
  patches.topology = VK_PRIMITIVE_TOPOLOGY_PATCH_LIST;
  patches.patch_control_points = 3;
  const Pipeline pipeline =
      make_graphics({{kVertex, patch_vert},
                     {VK_SHADER_STAGE_TESSELLATION_CONTROL_BIT, level_tesc},
                     {VK_SHADER_STAGE_TESSELLATION_EVALUATION_BIT, level_tese},
                     {kFragment, plain_frag}},
                    patches);
  const RenderTarget target(context());
  const Queries generated(context(), VK_QUERY_TYPE_PRIMITIVES_GENERATED_EXT);
  context().run([&](VkCommandBuffer commands) {
    generated.reset(commands);
    target.begin(commands);
    vkCmdBindPipeline(commands, kGraphics, pipeline);
    const float level = 4;
    vkCmdPushConstants(commands, layout(), VK_SHADER_STAGE_ALL, 0, sizeof level, &level);
    generated.begin(commands);
    vkCmdDraw(commands, 3, 1, 0, 0);
    generated.end(commands);
    target.end(commands);
  });
  std::array<int64_t, 2> result{};
  check(vkGetQueryPoolResults(context().device(), generated, 0, 1, sizeof result, result.data(),
                              sizeof result,
                              VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WITH_STATUS_BIT_KHR));
  EXPECT_THAT(result, testing::ElementsAre(24, VK_QUERY_RESULT_STATUS_COMPLETE_KHR));
}

}  // namespace
}  // namespace tally::test
