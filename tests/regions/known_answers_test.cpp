// Values by region against numbers worked out by hand.
#include "full_screen.vert.h"
#include "plain.frag.h"
#include "regions/kit.h"

namespace tally::test {
namespace {

class RegionAnswers : public RegionsTest {};

TEST_F(RegionAnswers, a_full_screen_triangle_fills_whole_regions_with_256_warps) {
  const VkExtent2D region = region_properties(context()).performanceCounterRegionSize;
  const VkExtent2D extent = {region.width * 3, region.height * 2};
  const RenderTarget target(context(), {.extent = extent});
  const Pipeline pipeline = make_graphics_pipeline(
      context(),
      {.stages = {{kVertex, full_screen_vert}, {kFragment, plain_frag}}, .layout = layout()});
  for (const uint32_t count : {1u, 3u}) {
    const Capture values(context(), {extent, {"fragment_warps", "fragment_invocations"}});
    capture(target, values, [&](VkCommandBuffer commands) {
      vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, pipeline);
      for (uint32_t i = 0; i < count; ++i) vkCmdDraw(commands, 3, 1, 0, 0);
    });
    for (uint32_t row = 0; row < 2; ++row) {
      for (uint32_t column = 0; column < 3; ++column) {
        EXPECT_EQ(values.value("fragment_warps", column, row), 256 * count);
        EXPECT_EQ(values.value("fragment_invocations", column, row),
                  region.width * region.height * count);
      }
    }
    values.expect_layout();
  }
}

}  // namespace
}  // namespace tally::test
