// Mesh shader queries, and the statistics of task and mesh shaders.
#include "api/queries/together.h"
#include "layered.mesh.h"
#include "plain.frag.h"

namespace tally::test {
namespace {

constexpr VkQueryPipelineStatisticFlags kMeshStatistics =
    VK_QUERY_PIPELINE_STATISTIC_FRAGMENT_SHADER_INVOCATIONS_BIT |
    VK_QUERY_PIPELINE_STATISTIC_MESH_SHADER_INVOCATIONS_BIT_EXT;

class MeshQueries : public QueriesTogether {
 protected:
  void SetUp() override {
    start(false);
    if (!has(VK_EXT_MESH_SHADER_EXTENSION_NAME)) GTEST_SKIP() << "no mesh shaders";
    VkPhysicalDeviceFeatures2 features{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, &mesh_};
    vkGetPhysicalDeviceFeatures2(context().gpu(), &features);
    if (!emulated() && !mesh_.meshShaderQueries) GTEST_SKIP() << "the driver has none";
    mesh_.meshShaderQueries = VK_TRUE;
    mesh_.multiviewMeshShader = mesh_.primitiveFragmentShadingRateMeshShader = VK_FALSE;
    start_source({.device_extensions = {VK_EXT_MESH_SHADER_EXTENSION_NAME}, .device_next = &mesh_});
  }

 private:
  VkPhysicalDeviceMeshShaderFeaturesEXT mesh_{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MESH_SHADER_FEATURES_EXT};
};

TEST_P(MeshQueries, count_invocations_and_primitives_together_as_alone) {
  const Pipeline pipeline =
      make_graphics({{VK_SHADER_STAGE_MESH_BIT_EXT, layered_mesh}, {kFragment, plain_frag}});
  const RenderTarget target(context(), {.layers = 4});
  const auto draw_mesh = context().function<PFN_vkCmdDrawMeshTasksEXT>("vkCmdDrawMeshTasksEXT");
  const auto scene = [&](VkCommandBuffer commands, const auto& within) {
    target.begin(commands);
    vkCmdBindPipeline(commands, kGraphics, pipeline);
    draw_mesh(commands, 3, 1, 1);
    within();
    draw_mesh(commands, 1, 4, 1);
    target.end(commands);
  };
  const Kinds kinds = {{VK_QUERY_TYPE_PIPELINE_STATISTICS, kMeshStatistics},
                       {VK_QUERY_TYPE_OCCLUSION},
                       {VK_QUERY_TYPE_MESH_PRIMITIVES_GENERATED_EXT}};
  const Results known = {{VK_QUERY_TYPE_PIPELINE_STATISTICS, {7 * 64 * 64, 7 * 3}},
                         {VK_QUERY_TYPE_OCCLUSION, {7 * 64 * 64}},
                         {VK_QUERY_TYPE_MESH_PRIMITIVES_GENERATED_EXT, {7}}};
  EXPECT_EQ(run_together(kinds, scene), known);
  for (const Kind& kind : kinds) {
    EXPECT_EQ(run_alone(kind, scene), known.at(kind.type)) << "query type " << kind.type;
  }
}

TALLY_EVERY_SOURCE(MeshQueries);

}  // namespace
}  // namespace tally::test
