// Compares the number of primitives per region with values computed by hand. A region has 16x16
// pixels and four cells of cells.vert, each with one triangle.
#include "api/regions/kit.h"
#include "cells.vert.h"
#include "discard.frag.h"
#include "full_screen.vert.h"
#include "numbered.geom.h"
#include "passing.geom.h"
#include "plain.frag.h"
#include "tiny_triangles.vert.h"

namespace tally::test {
namespace {

constexpr uint32_t kColumns = 8, kRows = 4;  // in regions
constexpr uint32_t kCells = 16 * 8;
constexpr const char* kPrimitives = "fragment_primitives";

class RegionPrimitives : public RegionsTest {
 protected:
  void SetUp() override { begin({}); }
  void begin(LayerSettings::Pairs settings) {
    target_.reset();
    settings.emplace_back("region_size", "16x16");
    start(settings);
    if (!offers_counter(context(), kPrimitives)) GTEST_SKIP() << "no primitive ids";
    target_.emplace(context(), RenderTargetInfo{.extent = kExtent});
  }
  Pipeline make_cells(std::span<const uint32_t> geometry = {},
                      std::span<const uint32_t> fragment = plain_frag) {
    GraphicsPipelineInfo info = {.stages = {{kVertex, cells_vert}, {kFragment, fragment}},
                                 .layout = layout()};
    if (!geometry.empty()) info.stages.push_back({VK_SHADER_STAGE_GEOMETRY_BIT, geometry});
    return make_graphics_pipeline(context(), info);
  }
  void draw_cells(VkCommandBuffer commands, VkPipeline pipeline, uint32_t cells = kCells,
                  uint32_t instances = 1) {
    const RectanglePush push = {0, 0, 0, 0, kExtent.width, kExtent.height};
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, pipeline);
    vkCmdPushConstants(commands, layout(), VK_SHADER_STAGE_ALL, 0, sizeof(push), &push);
    vkCmdDraw(commands, 3 * cells, instances, 0, 0);
  }
  template <typename Draw>
  Capture captured(Draw&& draw_all) {
    Capture values(context(), {kExtent, {kPrimitives, "fragment_invocations"}});
    capture(*target_, values, draw_all);
    values.expect_layout();
    return values;
  }
  // Expects `of_region(column, row)` in every region.
  template <typename OfRegion>
  static void expect_regions(const Capture& values, OfRegion&& of_region) {
    for (uint32_t row = 0; row < kRows; ++row) {
      for (uint32_t column = 0; column < kColumns; ++column) {
        EXPECT_EQ(values.value(kPrimitives, column, row), of_region(column, row))
            << "column " << column << ", row " << row;
      }
    }
  }
  static void expect_everywhere(const Capture& values, uint32_t primitives) {
    expect_regions(values, [&](uint32_t, uint32_t) { return primitives; });
  }

  std::optional<RenderTarget> target_;
};

TEST_F(RegionPrimitives, a_large_triangle_is_one_in_every_region) {
  const Pipeline pipeline = make_graphics_pipeline(
      context(),
      {.stages = {{kVertex, full_screen_vert}, {kFragment, plain_frag}}, .layout = layout()});
  const Capture values = captured([&](VkCommandBuffer commands) {
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, pipeline);
    vkCmdDraw(commands, 3, 1, 0, 0);
  });
  expect_everywhere(values, 1);
}

TEST_F(RegionPrimitives, small_triangles_count_where_they_are) {
  const Pipeline pipeline = make_cells();
  // All cells of the first row, and five of the second.
  const Capture values =
      captured([&](VkCommandBuffer commands) { draw_cells(commands, pipeline, 16 + 5); });
  expect_regions(values, [](uint32_t column, uint32_t row) {
    return row != 0 ? 0u : column < 2 ? 4u : column == 2 ? 3u : 2u;
  });
}

TEST_F(RegionPrimitives, each_draw_has_its_own_although_their_ids_are_the_same) {
  const Pipeline pipeline = make_cells();
  for (const uint32_t draws : {1u, 2u, 7u, 64u}) {
    const Capture values = captured([&](VkCommandBuffer commands) {
      for (uint32_t i = 0; i < draws; ++i) draw_cells(commands, pipeline);
    });
    expect_everywhere(values, 4 * draws);
  }
}

TEST_F(RegionPrimitives, layers_of_overdraw_add_up) {
  const Pipeline pipeline = make_rectangles(plain_frag);
  const Capture values = captured([&](VkCommandBuffer commands) {
    for (int i = 0; i < 3; ++i) draw(commands, pipeline, {0, 0, 128, 32, 128, 64});
    draw(commands, pipeline, whole(*target_));
  });
  // Two triangles per rectangle: a region on the diagonal may contain both. The invocations show
  // that everything is covered, and that there are at most twice as many triangles as rectangles.
  EXPECT_EQ(values.sum("fragment_invocations"), 128u * 64 + 3 * 128 * 32);
  expect_regions(values, [&](uint32_t column, uint32_t row) {
    // In the whole scene: the diagonal from the lower left corner to the upper right one, 16 high
    // and 32 wide in each pair of regions; of the others twice as flat.
    const uint32_t of_whole = column / 2 == kRows - 1 - row ? 2 : 1;
    const uint32_t of_others = row >= 2 ? 0 : column / 4 == 1 - row ? 2 : 1;
    return of_whole + 3 * of_others;
  });
}

TEST_F(RegionPrimitives, those_whose_fragments_are_discarded_count) {
  const Pipeline pipeline = make_cells({}, discard_frag);
  expect_everywhere(captured([&](VkCommandBuffer commands) { draw_cells(commands, pipeline); }), 4);
}

TEST_F(RegionPrimitives, instances_with_the_same_id_are_one) {
  const Pipeline pipeline = make_cells();
  const Capture values =
      captured([&](VkCommandBuffer commands) { draw_cells(commands, pipeline, kCells, 5); });
  expect_everywhere(values, 4);
  const Capture once = captured([&](VkCommandBuffer commands) { draw_cells(commands, pipeline); });
  EXPECT_EQ(values.sum("fragment_invocations"), 5 * once.sum("fragment_invocations"));
}

TEST_F(RegionPrimitives, geometry_shaders_say_which_is_which) {
  const Pipeline numbered = make_cells(numbered_geom);
  expect_everywhere(captured([&](VkCommandBuffer commands) { draw_cells(commands, numbered); }), 2);
  const Pipeline passing = make_cells(passing_geom);
  expect_everywhere(captured([&](VkCommandBuffer commands) { draw_cells(commands, passing); }), 1);
}

TEST_F(RegionPrimitives, a_recording_that_is_submitted_again_gives_the_same) {
  const Pipeline pipeline = make_cells();
  const Capture values(context(), {kExtent, {kPrimitives}});
  const VkCommandBuffer commands = context().begin_commands(0);
  target_->begin(commands, {0, 0, 0, 0}, 0, values.begin_info());
  draw_cells(commands, pipeline);
  target_->end(commands);
  attachment_barrier(commands);
  check(vkEndCommandBuffer(commands));
  for (int i = 0; i < 3; ++i) {
    context().submit_and_wait(commands);
    expect_everywhere(values, 4);
  }
}

// Triangles everywhere, in any order: no more than the draw has, and each in some region.
// Two command buffers of one pass: their draws have the same ids, and are different ones.
TEST_F(RegionPrimitives, those_of_a_suspended_pass_are_told_apart_in_all_its_command_buffers) {
  const Pipeline pipeline = make_cells();
  const Capture values(context(), {kExtent, {kPrimitives, "fragment_invocations"}});
  constexpr VkRenderingFlags kParts[] = {VK_RENDERING_SUSPENDING_BIT,
                                         VK_RENDERING_RESUMING_BIT | VK_RENDERING_SUSPENDING_BIT,
                                         VK_RENDERING_RESUMING_BIT};
  std::vector<VkCommandBuffer> parts;
  for (const VkRenderingFlags flags : kParts) {
    const VkCommandBuffer commands = parts.emplace_back(context().begin_commands(0));
    if (parts.size() == 1) {
      change_layout(commands, target_->color(), VK_IMAGE_LAYOUT_UNDEFINED,
                    VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL);
    }
    begin_part(commands, *target_, flags, values.begin_info());
    draw_cells(commands, pipeline);
    if (parts.size() == 2) draw_cells(commands, pipeline, 16);
    vkCmdEndRendering(commands);
    if (parts.size() == 3) attachment_barrier(commands);
    check(vkEndCommandBuffer(commands));
  }
  for (int i = 0; i < 2; ++i) {
    context().submit_and_wait(parts);
    expect_regions(values, [](uint32_t, uint32_t row) { return row == 0 ? 14u : 12u; });
  }
}

TEST_F(RegionPrimitives, many_at_once_are_told_apart) {
  target_.reset();
  start({{"region_size", "4096x4096"}, {"region_primitives", "8192"}});
  target_.emplace(context(), RenderTargetInfo{.extent = {512, 512}});
  const Pipeline pipeline = make_graphics_pipeline(
      context(),
      {.stages = {{kVertex, tiny_triangles_vert}, {kFragment, plain_frag}}, .layout = layout()});
  const Capture values(context(), {{512, 512}, {kPrimitives}});
  capture(*target_, values, [&](VkCommandBuffer commands) {
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, pipeline);
    vkCmdDraw(commands, 3 * 6000, 1, 0, 0);
  });
  EXPECT_EQ(values.value(kPrimitives, 0, 0), 6000u);
}

TEST_F(RegionPrimitives, too_many_read_as_the_limit_and_are_told_once) {
  begin({{"region_primitives", "16"}});
  const Pipeline pipeline = make_cells();
  for (const uint32_t draws : {3u, 4u, 5u, 50u}) {
    const Capture values = captured([&](VkCommandBuffer commands) {
      for (uint32_t i = 0; i < draws; ++i) draw_cells(commands, pipeline);
    });
    expect_everywhere(values, std::min(4 * draws, 16u));
    // Reported once, when the command buffer is destroyed.
    const auto messages = context().messages();
    const auto told = std::ranges::count(messages, "TALLY-too-many-primitives", &Message::id);
    EXPECT_EQ(told, draws > 4 ? 1 : 0) << draws;
  }
}

TEST_F(RegionPrimitives, are_the_same_where_lanes_count_alone) {
  begin({{"counting", "lane"}});
  const Pipeline pipeline = make_cells();
  const Capture values = captured([&](VkCommandBuffer commands) {
    for (int i = 0; i < 3; ++i) draw_cells(commands, pipeline);
  });
  expect_everywhere(values, 12);
}

}  // namespace
}  // namespace tally::test
