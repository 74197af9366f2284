// Mesh shader queries, and the statistics of task and mesh shaders.
#include "layered.mesh.h"
#include "plain.frag.h"
#include "queries/scenes.h"

namespace tally::test {
namespace {

class MeshQueries : public QueryTypes {};

TEST_F(MeshQueries, count_invocations_and_primitives) {
  start(false);
  if (!context().has_extension(VK_EXT_MESH_SHADER_EXTENSION_NAME)) {
    GTEST_SKIP() << "no mesh shaders";
  }
  VkPhysicalDeviceMeshShaderFeaturesEXT mesh{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MESH_SHADER_FEATURES_EXT};
  VkPhysicalDeviceFeatures2 features{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, &mesh};
  vkGetPhysicalDeviceFeatures2(context().gpu(), &features);
  const bool native = mesh.meshShaderQueries == VK_TRUE;
  mesh.pNext = nullptr;
  mesh.meshShaderQueries = VK_TRUE;
  mesh.multiviewMeshShader = mesh.primitiveFragmentShadingRateMeshShader = VK_FALSE;
  const ContextOptions options{.device_extensions = {VK_EXT_MESH_SHADER_EXTENSION_NAME},
                               .device_next = &mesh};
  const auto scene = [&] {
    const Pipeline pipeline =
        make_graphics({{VK_SHADER_STAGE_MESH_BIT_EXT, layered_mesh}, {kFragment, plain_frag}});
    const RenderTarget target(context(), {.layers = 4});
    const Queries statistics(context(), VK_QUERY_TYPE_PIPELINE_STATISTICS, 1,
                             VK_QUERY_PIPELINE_STATISTIC_MESH_SHADER_INVOCATIONS_BIT_EXT);
    const Queries primitives(context(), VK_QUERY_TYPE_MESH_PRIMITIVES_GENERATED_EXT);
    const auto draw_mesh = context().function<PFN_vkCmdDrawMeshTasksEXT>("vkCmdDrawMeshTasksEXT");
    context().run([&](VkCommandBuffer commands) {
      statistics.reset(commands);
      primitives.reset(commands);
      target.begin(commands);
      vkCmdBindPipeline(commands, kGraphics, pipeline);
      statistics.begin(commands);
      primitives.begin(commands);
      draw_mesh(commands, 4, 1, 1);
      primitives.end(commands);
      statistics.end(commands);
      target.end(commands);
    });
    return std::pair(statistics.read()[0], primitives.read()[0]);
  };
  start(true, options);
  const auto ours = scene();
  EXPECT_EQ(ours, std::pair(uint64_t{4 * 3}, uint64_t{4}));
  if (!native) return;
  start(false, options);
  EXPECT_EQ(ours, scene());
}

}  // namespace
}  // namespace tally::test
