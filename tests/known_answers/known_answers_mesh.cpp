// Compares counts of task and mesh shaders with values computed by hand.
#include <gtest/gtest.h>

#include <optional>

#include "fan.mesh.h"
#include "fan.task.h"
#include "plain.frag.h"
#include "support/instrumentation.h"
#include "support/pipeline.h"
#include "support/render_target.h"

namespace tally::test {
namespace {

class MeshAnswers : public testing::Test {
 protected:
  void SetUp() override {
    VkPhysicalDeviceMeshShaderFeaturesEXT mesh = {
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MESH_SHADER_FEATURES_EXT};
    mesh.taskShader = mesh.meshShader = VK_TRUE;
    VkPhysicalDeviceShaderInstrumentationFeaturesARM instrumentation = {
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INSTRUMENTATION_FEATURES_ARM, &mesh, VK_TRUE};
    if (!Context().has_extension(VK_EXT_MESH_SHADER_EXTENSION_NAME)) {
      GTEST_SKIP() << "no mesh shaders";
    }
    context_.emplace(
        ContextOptions{.layers = {"VK_LAYER_TALLY_counters"},
                       .device_extensions = {VK_EXT_MESH_SHADER_EXTENSION_NAME,
                                             VK_ARM_SHADER_INSTRUMENTATION_EXTENSION_NAME},
                       .device_next = &instrumentation});
  }

  std::optional<Context> context_;
};

TEST_F(MeshAnswers, every_stage_of_a_mesh_pipeline_counts) {
  const PipelineLayout layout = make_pipeline_layout(*context_);
  const Pipeline pipeline =
      make_graphics_pipeline(*context_, {.stages = {{VK_SHADER_STAGE_TASK_BIT_EXT, fan_task},
                                                    {VK_SHADER_STAGE_MESH_BIT_EXT, fan_mesh},
                                                    {VK_SHADER_STAGE_FRAGMENT_BIT, plain_frag}},
                                         .layout = layout,
                                         .next = &kInstrument});
  const RenderTarget target(*context_);
  const Instrumentation instrumentation(*context_);
  const auto draw_mesh = context_->function<PFN_vkCmdDrawMeshTasksEXT>("vkCmdDrawMeshTasksEXT");
  context_->run([&](VkCommandBuffer commands) {
    instrumentation.begin(commands);
    target.begin(commands);
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, pipeline);
    draw_mesh(commands, 2, 1, 1);
    target.end(commands);
    instrumentation.end(commands);
    full_barrier(commands);
  });
  const Counts task(instrumentation, VK_SHADER_STAGE_TASK_BIT_EXT, fan_task);
  EXPECT_EQ(task.invocations(), 2u * 2);
  EXPECT_EQ(task.total("emits"), 2u * 2);
  const Counts mesh(instrumentation, VK_SHADER_STAGE_MESH_BIT_EXT, fan_mesh);
  EXPECT_EQ(mesh.invocations(), 2u * 3 * 4);
  EXPECT_EQ(mesh.at("round"), 2u * 3 * 4 * 5);
  EXPECT_EQ(mesh.at("triangle"), 2u * 3 * 2);
  // Each of the six workgroups draws two triangles over the whole target.
  const Counts fragments(instrumentation, VK_SHADER_STAGE_FRAGMENT_BIT, plain_frag);
  const VkExtent2D extent = target.info().extent;
  EXPECT_EQ(fragments.invocations(), uint64_t{6} * extent.width * extent.height);
}

}  // namespace
}  // namespace tally::test
