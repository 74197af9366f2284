// Emulated queries around draws and dispatches with shader objects, against those around the same
// commands with pipelines.
#include "support/shader_objects.h"
#include "amplify.geom.h"
#include "api/queries/kit.h"
#include "level.tesc.h"
#include "level.tese.h"
#include "patch.vert.h"
#include "plain.frag.h"
#include "support/stages.h"

namespace tally::test {
namespace {

class QueriesOfShaderObjects : public QueriesTest {
 protected:
  static constexpr uint32_t kPushBytes = 16;

  void SetUp() override {
    if (!Context().has_extension(VK_EXT_SHADER_OBJECT_EXTENSION_NAME)) {
      GTEST_SKIP() << "no shader objects";
    }
    start(true,
          {.device_extensions = {VK_EXT_SHADER_OBJECT_EXTENSION_NAME}, .device_next = &feature_});
    own_layout_ = make_pipeline_layout(context(), {}, kPushBytes);
  }

  ShaderObjects make_shaders(const std::vector<Stage>& stages, VkShaderCreateFlagsEXT flags) {
    std::vector<ShaderObjectInfo> infos;
    for (size_t i = 0; i < stages.size(); ++i) {
      const VkShaderStageFlags next = i + 1 < stages.size() ? stages[i + 1].stage : 0;
      infos.push_back({stages[i], next, flags, {}, kPushBytes, {}});
    }
    return ShaderObjects(context(), infos);
  }

  // The statistics, the samples and the state of both.
  template <typename Bind>
  std::vector<uint64_t> measure(VkPrimitiveTopology topology, const Bind& bind) {
    const RenderTarget target(context());
    const Queries statistics(context(), VK_QUERY_TYPE_PIPELINE_STATISTICS, 1, kAllStatistics);
    const Queries samples(context(), VK_QUERY_TYPE_OCCLUSION);
    context().run([&](VkCommandBuffer commands) {
      statistics.reset(commands);
      samples.reset(commands);
      target.begin(commands);
      const float level = 4;
      vkCmdPushConstants(commands, own_layout_, VK_SHADER_STAGE_ALL, 0, sizeof level, &level);
      set_draw_state(context(), commands, {.topology = topology});
      bind(commands);
      target.set_viewport(commands);
      statistics.begin(commands);
      samples.begin(commands, 0, VK_QUERY_CONTROL_PRECISE_BIT);
      vkCmdDraw(commands, 6, 1, 0, 0);
      vkCmdDraw(commands, 3, 2, 0, 0);
      samples.end(commands);
      statistics.end(commands);
      vkCmdDraw(commands, 6, 1, 0, 0);  // after the queries
      target.end(commands);
    });
    std::vector<uint64_t> all = statistics.read();
    for (const uint64_t value : samples.read()) all.push_back(value);
    return all;
  }

  std::vector<uint64_t> of_pipeline(const std::vector<Stage>& stages,
                                    VkPrimitiveTopology topology) {
    const bool patches = topology == VK_PRIMITIVE_TOPOLOGY_PATCH_LIST;
    const Pipeline pipeline =
        make_graphics_pipeline(context(), {.stages = stages,
                                           .layout = own_layout_,
                                           .topology = topology,
                                           .patch_control_points = patches ? 3u : 0u});
    return measure(topology, [&](VkCommandBuffer commands) {
      vkCmdBindPipeline(commands, kGraphics, pipeline);
    });
  }
  std::vector<uint64_t> of_objects(const std::vector<Stage>& stages, VkPrimitiveTopology topology,
                                   VkShaderCreateFlagsEXT flags) {
    const ShaderObjects shaders = make_shaders(stages, flags);
    return measure(topology, [&](VkCommandBuffer commands) {
      unbind_graphics_shaders(context(), commands);
      shaders.bind(commands);
    });
  }
  void expect_as_with_a_pipeline(const std::vector<Stage>& stages, VkPrimitiveTopology topology) {
    const std::vector<uint64_t> expected = of_pipeline(stages, topology);
    EXPECT_GT(expected.at(2), 0u) << "vertex shader invocations";
    EXPECT_EQ(of_objects(stages, topology, 0), expected);
    EXPECT_EQ(of_objects(stages, topology, VK_SHADER_CREATE_LINK_STAGE_BIT_EXT), expected);
  }

  VkPhysicalDeviceShaderObjectFeaturesEXT feature_ = {
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_OBJECT_FEATURES_EXT, nullptr, VK_TRUE};
  PipelineLayout own_layout_;
};

TEST_F(QueriesOfShaderObjects, count_two_stages) {
  expect_as_with_a_pipeline({{kVertex, patch_vert}, {kFragment, plain_frag}},
                            VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST);
}

TEST_F(QueriesOfShaderObjects, count_geometry) {
  expect_as_with_a_pipeline(
      {{kVertex, patch_vert}, {kGeometry, amplify_geom}, {kFragment, plain_frag}},
      VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST);
}

TEST_F(QueriesOfShaderObjects, count_all_stages) {
  expect_as_with_a_pipeline({{kVertex, patch_vert},
                             {kControl, level_tesc},
                             {kEvaluation, level_tese},
                             {kGeometry, amplify_geom},
                             {kFragment, plain_frag}},
                            VK_PRIMITIVE_TOPOLOGY_PATCH_LIST);
}

}  // namespace
}  // namespace tally::test
