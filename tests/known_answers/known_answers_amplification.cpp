// Compares counts of tessellation and geometry shaders with values computed by hand and with the
// driver's statistics.
#include "amplify.geom.h"
#include "known_answers.h"
#include "level.tesc.h"
#include "level.tese.h"
#include "patch.vert.h"
#include "plain.frag.h"
#include "support/stages.h"

namespace tally::test {
namespace {

class AmplificationAnswers : public KnownAnswers {
 protected:
  void SetUp() override {
    const auto& features = context_.features();
    if (!features.tessellationShader || !features.geometryShader) GTEST_SKIP() << "no such stages";
  }
  Pipeline make_pipeline(std::vector<Stage> amplifying, bool patches) {
    std::vector<Stage> stages = {{VK_SHADER_STAGE_VERTEX_BIT, patch_vert}};
    stages.insert(stages.end(), amplifying.begin(), amplifying.end());
    stages.push_back({VK_SHADER_STAGE_FRAGMENT_BIT, plain_frag});
    return make_graphics_pipeline(context_,
                                  {.stages = stages,
                                   .layout = layout_,
                                   .topology = patches ? VK_PRIMITIVE_TOPOLOGY_PATCH_LIST
                                                       : VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST,
                                   .patch_control_points = patches ? 3u : 0u,
                                   .next = &kInstrument});
  }
  // Draws `vertices` vertices of the triangle with the tessellation level `level`.
  void draw(VkPipeline pipeline, float level, uint32_t vertices) {
    measure_drawing(target_, [&](VkCommandBuffer commands) {
      vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, pipeline);
      vkCmdPushConstants(commands, layout_, VK_SHADER_STAGE_ALL, 0, sizeof(level), &level);
      vkCmdDraw(commands, vertices, 1, 0, 0);
    });
  }

  RenderTarget target_{context_};
  PipelineLayout layout_ = make_pipeline_layout(context_, {}, 16);
};

TEST_F(AmplificationAnswers, tessellation_of_level_four_has_nineteen_vertices_a_patch) {
  const Pipeline pipeline =
      make_pipeline({{kControl, level_tesc}, {kEvaluation, level_tese}}, true);
  draw(pipeline, 4, 3 * 5);
  EXPECT_EQ(counts(kControl, level_tesc).invocations(), 3u * 5);
  EXPECT_EQ(counts(kControl, level_tesc).at("levels"), 5u);
  // Rings of 12 and 6 vertices, and one in the middle; a driver may evaluate a shared vertex again.
  const uint64_t evaluated = counts(kEvaluation, level_tese).invocations();
  EXPECT_GE(evaluated, 5u * (12 + 6 + 1));
  ASSERT_TRUE(has_statistics());
  EXPECT_EQ(statistics_->read().tessellation_control_patches, 5u);
  EXPECT_EQ(statistics_->read().tessellation_evaluation_invocations, evaluated);
}

TEST_F(AmplificationAnswers, a_geometry_shader_runs_for_each_primitive_and_invocation) {
  const Pipeline pipeline = make_pipeline({{kGeometry, amplify_geom}}, false);
  draw(pipeline, 4, 3 * 6);
  const Counts geometry = counts(kGeometry, amplify_geom);
  EXPECT_EQ(geometry.invocations(), 6u * 2);
  EXPECT_EQ(geometry.at("vertex"), 6u * 2 * 4 * 3);
  EXPECT_EQ(geometry.total("emits"), 6u * 2 * 4 * (3 + 1));
  ASSERT_TRUE(has_statistics());
  // lavapipe 22.3 does not multiply by the shader's invocations.
  const uint64_t driver = statistics_->read().geometry_invocations;
  EXPECT_TRUE(driver == 6u || driver == 6u * 2) << driver;
  EXPECT_EQ(statistics_->read().geometry_primitives, 6u * 2 * 4);
}

TEST_F(AmplificationAnswers, all_stages_together_agree_with_the_driver) {
  const Pipeline pipeline = make_pipeline(
      {{kControl, level_tesc}, {kEvaluation, level_tese}, {kGeometry, amplify_geom}}, true);
  draw(pipeline, 2, 3);
  const PipelineStatistics driver = statistics_->read();
  // Level 2: an outer ring of six vertices and one in the middle form six triangles.
  EXPECT_EQ(counts(kGeometry, amplify_geom).invocations(), 6u * 2);
  EXPECT_EQ(counts(VK_SHADER_STAGE_VERTEX_BIT, patch_vert).invocations(),
            driver.vertex_invocations);
  EXPECT_EQ(counts(kEvaluation, level_tese).invocations(),
            driver.tessellation_evaluation_invocations);
  EXPECT_GE(counts(kGeometry, amplify_geom).invocations(), driver.geometry_invocations);
  // The driver's number may include helper invocations.
  EXPECT_LE(counts(VK_SHADER_STAGE_FRAGMENT_BIT, plain_frag).invocations(),
            driver.fragment_invocations);
}

}  // namespace
}  // namespace tally::test
