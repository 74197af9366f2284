// Views and layers of render passes.
#include "api/regions/passes.h"
#include "layered.geom.h"
#include "layered.mesh.h"
#include "layered.vert.h"
#include "plain.frag.h"
#include "rectangle.vert.h"

namespace tally::test {
namespace {

class RegionLayers : public RegionPassesTest {};

TEST_F(RegionLayers, views_are_told_apart) {
  const RenderTarget target(context(), {.extent = kExtent, .view_mask = 0b101});
  const Pipeline pipeline = make_rectangles(plain_frag, {.view_mask = 0b101});
  const Capture values(context(), {.area = kExtent, .layers = 3});
  capture(target, values, [&](VkCommandBuffer commands) { draw(commands, pipeline, square(70)); });
  expect_rectangle(values, context(), 70, 1, 0);
  expect_rectangle(values, context(), 70, 0, 1);
  expect_rectangle(values, context(), 70, 1, 2);
}

TEST_F(RegionLayers, views_of_a_render_pass_object_are_told_apart) {
  const RenderTarget target(context(), {.extent = kExtent, .view_mask = 0b11});
  const Pipeline pipeline = make_rectangles(plain_frag, {.render_pass = target.render_pass()});
  const Capture values(context(), {.area = kExtent, .layers = 2});
  context().run([&](VkCommandBuffer commands) {
    target.begin_render_pass(commands, {0, 0, 0, 0}, VK_SUBPASS_CONTENTS_INLINE,
                             values.begin_info());
    draw(commands, pipeline, square(70));
    target.end_render_pass(commands);
    attachment_barrier(commands);
  });
  expect_rectangle(values, context(), 70, 1, 0);
  expect_rectangle(values, context(), 70, 1, 1);
}

TEST_F(RegionLayers, layers_of_a_geometry_shader_are_told_apart) {
  if (!context().features().geometryShader) GTEST_SKIP() << "no geometry shaders";
  const RenderTarget target(context(), {.extent = kExtent, .layers = 2});
  const Pipeline pipeline =
      make_graphics_pipeline(context(), {.stages = {{kVertex, rectangle_vert},
                                                    {VK_SHADER_STAGE_GEOMETRY_BIT, layered_geom},
                                                    {kFragment, plain_frag}},
                                         .layout = layout(),
                                         .topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_STRIP});
  const Capture values(context(), {.area = kExtent, .layers = 2});
  capture(target, values, [&](VkCommandBuffer commands) { draw(commands, pipeline, square(128)); });
  EXPECT_EQ(values.sum(kInvocations, 0), 128u * 128);
  // The first of the square's two triangles; pixels on the diagonal belong to only one of them.
  EXPECT_NEAR(static_cast<double>(values.sum(kInvocations, 1)), 128 * 128 / 2, 64);
}

TEST_F(RegionLayers, layers_of_a_vertex_shader_are_told_apart) {
  VkPhysicalDeviceVulkan12Features core = {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES};
  VkPhysicalDeviceFeatures2 features = {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, &core};
  vkGetPhysicalDeviceFeatures2(context().gpu(), &features);
  if (!core.shaderOutputLayer) GTEST_SKIP() << "no shaderOutputLayer";
  const RenderTarget target(context(), {.extent = kExtent, .layers = 3});
  const Pipeline pipeline = make_graphics_pipeline(
      context(),
      {.stages = {{kVertex, layered_vert}, {kFragment, plain_frag}}, .layout = layout()});
  // The second layer is not requested.
  const Capture values(context(), {.area = kExtent, .layers = 3, .wanted = {true, false, true}});
  capture(target, values, [&](VkCommandBuffer commands) {
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, pipeline);
    vkCmdDraw(commands, 3, 2, 0, 0);
    vkCmdDraw(commands, 3, 2, 0, 1);
  });
  expect_rectangle(values, context(), 128, 1, 0);
  EXPECT_TRUE(values.untouched(1));
  expect_rectangle(values, context(), 128, 1, 2);
}

TEST_F(RegionLayers, layers_of_a_mesh_shader_are_told_apart) {
  if (!context().has_extension(VK_EXT_MESH_SHADER_EXTENSION_NAME))
    GTEST_SKIP() << "no mesh shaders";
  VkPhysicalDeviceMeshShaderFeaturesEXT mesh = {
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MESH_SHADER_FEATURES_EXT};
  mesh.meshShader = VK_TRUE;
  start({}, false,
        {.device_extensions = {VK_EXT_MESH_SHADER_EXTENSION_NAME}, .device_next = &mesh});
  const RenderTarget target(context(), {.extent = kExtent, .layers = 2});
  const Pipeline pipeline = make_graphics_pipeline(
      context(), {.stages = {{VK_SHADER_STAGE_MESH_BIT_EXT, layered_mesh}, {kFragment, plain_frag}},
                  .layout = layout()});
  const Capture values(context(), {.area = kExtent, .layers = 2});
  const auto draw_mesh = context().function<PFN_vkCmdDrawMeshTasksEXT>("vkCmdDrawMeshTasksEXT");
  capture(target, values, [&](VkCommandBuffer commands) {
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, pipeline);
    draw_mesh(commands, 2, 1, 1);
    draw_mesh(commands, 1, 1, 1);
  });
  expect_rectangle(values, context(), 128, 2, 0);
  expect_rectangle(values, context(), 128, 1, 1);
}

}  // namespace
}  // namespace tally::test
