#include <gtest/gtest.h>

#include "double.comp.h"
#include "full_screen.vert.h"
#include "orange.frag.h"
#include "support/environment.h"
#include "support/pipeline.h"
#include "support/queries.h"
#include "support/render_target.h"
#include "support/spirv.h"

namespace tally::test {
namespace {

constexpr uint32_t kOrange = 0xff0080ff;  // little-endian RGBA8 of (1, 0.5, 0, 1)

Pipeline make_orange(const Context& context, VkPipelineLayout layout, const RenderTarget& target,
                     bool dynamic) {
  GraphicsPipelineInfo info;
  info.stages = {{VK_SHADER_STAGE_VERTEX_BIT, full_screen_vert},
                 {VK_SHADER_STAGE_FRAGMENT_BIT, orange_frag}};
  info.layout = layout;
  info.samples = target.info().samples;
  info.depth_format = target.info().depth_format;
  info.view_mask = target.info().view_mask;
  info.render_pass = dynamic ? VK_NULL_HANDLE : target.render_pass();
  return make_graphics_pipeline(context, info);
}

TEST(Support, a_dispatch_writes_what_the_host_reads) {
  Context context;
  const Buffer values(context, 64 * sizeof(uint32_t));
  for (uint32_t i = 0; i < 64; ++i) values.as<uint32_t>()[i] = i;
  const StorageSet set(context, {values});
  const PipelineLayout layout = make_pipeline_layout(context, {{set.layout()}});
  const Pipeline pipeline =
      make_compute_pipeline(context, {{VK_SHADER_STAGE_COMPUTE_BIT, double_comp}, layout});
  context.run([&](VkCommandBuffer commands) {
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
    set.bind(commands, layout);
    vkCmdDispatch(commands, 2, 1, 1);
    full_barrier(commands);
  });
  for (uint32_t i = 0; i < 64; ++i) EXPECT_EQ(values.as<uint32_t>()[i], 2 * i);
}

TEST(Support, a_full_screen_triangle_covers_every_texel_and_statistics_agree) {
  Context context;
  const RenderTarget target(context, {.extent = {32, 16}});
  const PipelineLayout layout = make_pipeline_layout(context);
  const Pipeline pipeline = make_orange(context, layout, target, true);
  const StatisticsQuery statistics(context);
  const OcclusionQuery occlusion(context);
  context.run([&](VkCommandBuffer commands) {
    statistics.reset(commands);
    occlusion.reset(commands);
    statistics.begin(commands);
    target.begin(commands, {0, 0, 1, 1});
    occlusion.begin(commands);
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, pipeline);
    vkCmdDraw(commands, 3, 1, 0, 0);
    occlusion.end(commands);
    target.end(commands);
    statistics.end(commands);
  });
  EXPECT_EQ(target.read(), std::vector<uint32_t>(32 * 16, kOrange));
  EXPECT_EQ(occlusion.read(), 32u * 16);
  if (statistics.available()) {
    EXPECT_EQ(statistics.read().input_assembly_vertices, 3u);
    EXPECT_EQ(statistics.read().clipping_invocations, 1u);
  }
}

void expect_all_orange(Context& context, const RenderTargetInfo& info) {
  const RenderTarget target(context, info);
  const PipelineLayout layout = make_pipeline_layout(context);
  const Pipeline pipeline = make_orange(context, layout, target, false);
  context.run([&](VkCommandBuffer commands) {
    target.begin_render_pass(commands);
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, pipeline);
    vkCmdDraw(commands, 3, 1, 0, 0);
    target.end_render_pass(commands);
  });
  const size_t layers = info.view_mask ? 2 : 1;
  EXPECT_EQ(target.read(),
            std::vector<uint32_t>(info.extent.width * info.extent.height * layers, kOrange));
}

TEST(Support, samples_are_resolved) {
  Context context;
  expect_all_orange(
      context,
      {.extent = {8, 8}, .depth_format = VK_FORMAT_D32_SFLOAT, .samples = VK_SAMPLE_COUNT_4_BIT});
}

// Mesa 22.3 draws the primitives of all views into the first view unless something flushes between
// them.
TEST(Support, every_view_is_drawn) {
  if (driver_name() == "lavapipe")
    GTEST_SKIP() << "a fault of this driver, mended in later versions";
  Context context;
  expect_all_orange(context, {.extent = {8, 8}, .view_mask = 0b11});
}

TEST(Support, wrong_assembly_is_refused_with_its_line) {
  EXPECT_THROW(assemble("OpCapability Shader\nOpNonsense\n"), std::invalid_argument);
  EXPECT_EQ(validate(double_comp), "");
  const auto words = assemble(disassemble(orange_frag), SPV_ENV_VULKAN_1_0);
  EXPECT_EQ(validate(words), "");
}

}  // namespace
}  // namespace tally::test
