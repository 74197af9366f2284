// Compares values by region with values computed by hand.
#include "api/regions/kit.h"
#include "branchy.frag.h"
#include "catalogue/catalogue.h"
#include "demote.frag.h"
#include "discard.frag.h"
#include "full_screen.vert.h"
#include "per_sample.frag.h"
#include "plain.frag.h"
#include "tiny_triangles.vert.h"

namespace tally::test {
namespace {

constexpr const char* kSamples = "covered_samples";

class RegionAnswers : public RegionsTest {
 protected:
  // A triangle that covers the whole target.
  Pipeline make_full_screen(std::span<const uint32_t> fragment) {
    return make_graphics_pipeline(
        context(),
        {.stages = {{kVertex, full_screen_vert}, {kFragment, fragment}}, .layout = layout()});
  }
  static void draw_triangle(VkCommandBuffer commands, VkPipeline pipeline) {
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, pipeline);
    vkCmdDraw(commands, 3, 1, 0, 0);
  }
  // Draws the first triangle of a rectangle of twice the target's size, in a viewport of that size:
  // it covers the target without being clipped. Drivers split a clipped triangle into several.
  void draw_unclipped(VkCommandBuffer commands, VkPipeline rectangles, const RenderTarget& target) {
    const float width = 2 * static_cast<float>(target.info().extent.width);
    const float height = 2 * static_cast<float>(target.info().extent.height);
    const VkViewport viewport = {0, 0, width, height, 0, 1};
    vkCmdSetViewport(commands, 0, 1, &viewport);
    const RectanglePush push = {0, 0, width, height, width, height};
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, rectangles);
    vkCmdPushConstants(commands, layout(), VK_SHADER_STAGE_ALL, 0, sizeof(push), &push);
    vkCmdDraw(commands, 3, 1, 0, 0);
  }
};

TEST_F(RegionAnswers, a_full_screen_triangle_fills_whole_regions_with_256_warps) {
  const VkExtent2D region = region_properties(context()).performanceCounterRegionSize;
  EXPECT_EQ(region.width * region.height, 256 * context().subgroup_size());
  const VkExtent2D extent = {region.width * 3, region.height * 2};
  const RenderTarget target(context(), {.extent = extent});
  const Pipeline pipeline = make_full_screen(plain_frag);
  for (const uint32_t count : {1u, 3u}) {
    const Capture values(context(), {extent, {"fragment_warps", kInvocations}});
    capture(target, values, [&](VkCommandBuffer commands) {
      for (uint32_t i = 0; i < count; ++i) draw_triangle(commands, pipeline);
    });
    for (uint32_t row = 0; row < 2; ++row) {
      for (uint32_t column = 0; column < 3; ++column) {
        EXPECT_EQ(values.value("fragment_warps", column, row), 256 * count);
        EXPECT_EQ(values.value(kInvocations, column, row), region.width * region.height * count);
      }
    }
    values.expect_layout();
  }
}

TEST_F(RegionAnswers, a_small_rectangle_counts_in_the_regions_that_it_crosses) {
  const RenderTarget target(context(), {.extent = {256, 192}});
  const Capture values(context(), {{256, 192}});
  const Pipeline pipeline = make_rectangles(plain_frag);
  capture(target, values, [&](VkCommandBuffer commands) {
    draw(commands, pipeline, {50, 20, 71, 41, 256, 192});
  });
  expect_pixels(values, kInvocations, context(), {{0, 0}, {256, 192}},
                [](uint32_t x, uint32_t y) { return x >= 50 && x < 71 && y >= 20 && y < 41; });
  values.expect_layout();
}

TEST_F(RegionAnswers, overdraw_adds_up_layer_by_layer) {
  const RenderTarget target(context(), {.extent = {128, 128}});
  const Capture values(context(), {{128, 128}});
  const Pipeline pipeline = make_rectangles(plain_frag);
  capture(target, values, [&](VkCommandBuffer commands) {
    draw(commands, pipeline, whole(target), 2);
    for (const float size : {96.0f, 64.0f, 32.0f}) {
      draw(commands, pipeline, {0, 0, size, size, 128, 128});
    }
  });
  expect_pixels(values, kInvocations, context(), {{0, 0}, {128, 128}}, [](uint32_t x, uint32_t y) {
    const uint32_t most = std::max(x, y);
    return 2 + (most < 96) + (most < 64) + (most < 32);
  });
}

// Some drivers cull fragments behind an opaque triangle if nothing can observe them.
TEST_F(RegionAnswers, what_is_painted_over_has_run) {
  const VkExtent2D extent = {1024, 512};
  const RenderTarget target(context(), {.extent = extent});
  const Capture values(context(), {extent});
  const Pipeline pipeline = make_rectangles(plain_frag);
  capture(target, values, [&](VkCommandBuffer commands) {
    for (int i = 0; i < 4; ++i) draw(commands, pipeline, whole(target));
  });
  expect_pixels(values, kInvocations, context(), {{0, 0}, extent},
                [](uint32_t, uint32_t) { return 4; });
}

TEST_F(RegionAnswers, discarded_invocations_count_and_are_told) {
  const RenderTarget target(context(), {.extent = {128, 64}});
  const Capture values(context(), {{128, 64}, {kDiscarded, kInvocations}});
  const Pipeline pipeline = make_rectangles(discard_frag);
  capture(target, values,
          [&](VkCommandBuffer commands) { draw(commands, pipeline, whole(target)); });
  const VkRect2D area = {{0, 0}, {128, 64}};
  expect_pixels(values, kInvocations, context(), area, [](uint32_t, uint32_t) { return 1; });
  expect_pixels(values, kDiscarded, context(), area,
                [](uint32_t x, uint32_t y) { return (x + y) % 2 == 0; });
}

// A pass that counts nothing else adds them when they begin.
TEST_F(RegionAnswers, invocations_are_the_same_alone_and_among_all_counters) {
  std::vector<std::string_view> all;
  for (const catalogue::Counter* counter : catalogue::counters_of(catalogue::Scope::Region)) {
    if (offers_counter(context(), counter->id)) all.push_back(counter->id);
  }
  const RenderTarget target(context(), {.extent = {128, 64}});
  const Capture alone(context(), {{128, 64}, {kInvocations}});
  const Capture among(context(), {{128, 64}, all});
  const Pipeline pipeline = make_rectangles(discard_frag);
  for (const Capture* values : {&alone, &among}) {
    capture(target, *values, [&](VkCommandBuffer commands) {
      draw(commands, pipeline, {3, 5, 99, 59, 128, 64});
      draw(commands, pipeline, {61, 1, 67, 64, 128, 64});
    });
    expect_pixels(*values, kInvocations, context(), {{0, 0}, {128, 64}},
                  [](uint32_t x, uint32_t y) {
                    return (x >= 3 && x < 99 && y >= 5 && y < 59) + (x >= 61 && x < 67 && y >= 1);
                  });
  }
}

TEST_F(RegionAnswers, demoted_invocations_are_discarded_ones) {
  const RenderTarget target(context(), {.extent = {128, 64}});
  const Capture values(context(), {{128, 64}, {kDiscarded, kInvocations}});
  const Pipeline pipeline = make_rectangles(demote_frag);
  capture(target, values,
          [&](VkCommandBuffer commands) { draw(commands, pipeline, whole(target)); });
  const VkRect2D area = {{0, 0}, {128, 64}};
  expect_pixels(values, kInvocations, context(), area, [](uint32_t, uint32_t) { return 1; });
  expect_pixels(values, kDiscarded, context(), area,
                [](uint32_t x, uint32_t) { return x % 2 == 0; });
}

TEST_F(RegionAnswers, what_fails_the_early_depth_test_does_not_run) {
  const RenderTarget target(context(), {.extent = {128, 64}, .depth_format = VK_FORMAT_D32_SFLOAT});
  const GraphicsPipelineInfo depth = {
      .depth_format = VK_FORMAT_D32_SFLOAT, .depth_test = true, .depth_write = true};
  const Pipeline pipeline = make_rectangles(plain_frag, depth);
  const Capture values(context(), {{128, 64}});
  capture(target, values, [&](VkCommandBuffer commands) {
    draw(commands, pipeline, {0, 0, 40, 64, 128, 64, 0.25f});
    draw(commands, pipeline, whole(target, 0.75f));
  });
  // Once per pixel: those of the near rectangle, and the others.
  expect_pixels(values, kInvocations, context(), {{0, 0}, {128, 64}},
                [](uint32_t, uint32_t) { return 1; });
}

TEST_F(RegionAnswers, multisampled_fragments_tell_the_samples_that_they_cover) {
  const RenderTarget target(context(), {.extent = {128, 64}, .samples = VK_SAMPLE_COUNT_4_BIT});
  const Pipeline pipeline = make_rectangles(plain_frag, {.samples = VK_SAMPLE_COUNT_4_BIT});
  const OcclusionQuery occlusion(context());
  const Capture values(context(), {{128, 64}, {kSamples, kInvocations}});
  context().run([&](VkCommandBuffer commands) {
    occlusion.reset(commands);
    target.begin(commands, {0, 0, 0, 0}, 0, values.begin_info());
    occlusion.begin(commands);
    draw(commands, pipeline, whole(target));
    occlusion.end(commands);
    target.end(commands);
    attachment_barrier(commands);
  });
  // Pixels on the strip's diagonal run for both triangles.
  EXPECT_GE(values.sum(kInvocations), 128u * 64);
  EXPECT_LE(values.sum(kInvocations), 128u * 64 + 128);
  EXPECT_EQ(values.sum(kSamples), 128u * 64 * 4);
  EXPECT_EQ(values.sum(kSamples), occlusion.read());
}

TEST_F(RegionAnswers, sample_shading_runs_once_a_sample) {
  if (!context().features().sampleRateShading) GTEST_SKIP() << "no sampleRateShading";
  const RenderTarget target(context(), {.extent = {128, 64}, .samples = VK_SAMPLE_COUNT_4_BIT});
  const Pipeline pipeline =
      make_rectangles(per_sample_frag, {.samples = VK_SAMPLE_COUNT_4_BIT, .min_sample_shading = 1});
  const Capture values(context(), {{128, 64}});
  capture(target, values,
          [&](VkCommandBuffer commands) { draw(commands, pipeline, whole(target)); });
  expect_pixels(values, kInvocations, context(), {{0, 0}, {128, 64}},
                [](uint32_t, uint32_t) { return 4; });
}

TEST_F(RegionAnswers, a_render_area_is_counted_from_its_own_corner) {
  const VkRect2D area = {{13, 27}, {150, 101}};
  const RenderTarget target(context(), {.extent = {256, 192}, .area = area});
  const Pipeline pipeline = make_rectangles(plain_frag);
  const Capture values(context(), {area.extent});
  capture(target, values, [&](VkCommandBuffer commands) {
    draw(commands, pipeline, whole(target));
    draw(commands, pipeline, {100, 100, 140, 190, 256, 192});
  });
  expect_pixels(values, kInvocations, context(), area, [](uint32_t x, uint32_t y) {
    return 1 + (x >= 100 && x < 140 && y >= 100 && y < 190);
  });
  values.expect_layout();
}

TEST_F(RegionAnswers, partial_regions_stand_at_the_right_and_lower_edge) {
  const VkExtent2D extent = {130, 70};
  const RenderTarget target(context(), {.extent = extent});
  const Capture values(context(), {extent, {"fragment_warps", kInvocations, kSamples}});
  const Pipeline pipeline = make_full_screen(plain_frag);
  capture(target, values, [&](VkCommandBuffer commands) { draw_triangle(commands, pipeline); });
  expect_pixels(values, kInvocations, context(), {{0, 0}, extent},
                [](uint32_t, uint32_t) { return 1; });
  const uint32_t size = context().subgroup_size();
  for (uint32_t row = 0; row < values.rows(); ++row) {
    for (uint32_t column = 0; column < values.columns(); ++column) {
      const uint32_t invocations = values.value(kInvocations, column, row);
      EXPECT_EQ(values.value("fragment_warps", column, row), (invocations + size - 1) / size);
      EXPECT_EQ(values.value(kSamples, column, row), invocations);
    }
  }
  values.expect_layout();
}

TEST_F(RegionAnswers, nothing_drawn_is_written_as_zeros) {
  const RenderTarget target(context(), {.extent = {128, 64}});
  const Capture values(context(), {{128, 64}, {"fragment_warps", kInvocations}});
  capture(target, values, [](VkCommandBuffer) {});
  EXPECT_EQ(values.sum("fragment_warps"), 0u);
  EXPECT_EQ(values.sum(kInvocations), 0u);
  values.expect_layout();
}

// The sum over all regions equals the driver's own count, draw by draw, for small and large
// triangles. (llvmpipe's statistic counts whole 4x4 pixel blocks, so passed samples are used.)
TEST_F(RegionAnswers, the_regions_together_are_the_drivers_own_count) {
  const VkExtent2D extent = {256, 256};
  const RenderTarget target(context(), {.extent = extent});
  const Pipeline tiny = make_graphics_pipeline(
      context(),
      {.stages = {{kVertex, tiny_triangles_vert}, {kFragment, branchy_frag}}, .layout = layout()});
  for (uint32_t first = 0; first < 6000; first += 1500) {
    const OcclusionQuery occlusion(context());
    const Capture values(context(), {extent, {kInvocations, "fragment_subgroups"}});
    context().run([&](VkCommandBuffer commands) {
      occlusion.reset(commands);
      target.begin(commands, {0, 0, 0, 0}, 0, values.begin_info());
      occlusion.begin(commands);
      vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, tiny);
      vkCmdDraw(commands, 1500, 1, first, 0);
      occlusion.end(commands);
      target.end(commands);
      attachment_barrier(commands);
    });
    EXPECT_GT(values.sum(kInvocations), 500u);
    EXPECT_EQ(values.sum(kInvocations), occlusion.read());
    EXPECT_GE(values.sum("fragment_subgroups") * context().subgroup_size(),
              values.sum(kInvocations));
    EXPECT_LE(values.sum("fragment_subgroups"), values.sum(kInvocations));
  }
}

TEST_F(RegionAnswers, whole_stamps_are_the_drivers_statistic) {
  const VkExtent2D extent = {256, 128};
  const RenderTarget target(context(), {.extent = extent});
  const Pipeline pipeline = make_rectangles(plain_frag);
  const StatisticsQuery statistics(context());
  if (!statistics.available()) GTEST_SKIP() << "no pipeline statistics";
  const Capture values(context(), {extent});
  context().run([&](VkCommandBuffer commands) {
    statistics.reset(commands);
    target.begin(commands, {0, 0, 0, 0}, 0, values.begin_info());
    statistics.begin(commands);
    draw_unclipped(commands, pipeline, target);
    draw_unclipped(commands, pipeline, target);
    statistics.end(commands);
    target.end(commands);
    attachment_barrier(commands);
  });
  EXPECT_EQ(values.sum(kInvocations), statistics.read().fragment_invocations);
}

// A fragment of 2x2 pixels is one invocation, and covers the samples of all of its pixels.
TEST_F(RegionAnswers, a_fragment_of_several_pixels_counts_once) {
  if (!context().has_extension(VK_KHR_FRAGMENT_SHADING_RATE_EXTENSION_NAME)) {
    GTEST_SKIP() << "no fragment shading rate";
  }
  VkPhysicalDeviceFragmentShadingRateFeaturesKHR feature = {
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FRAGMENT_SHADING_RATE_FEATURES_KHR, nullptr, VK_TRUE};
  start({}, false,
        {.device_extensions = {VK_KHR_FRAGMENT_SHADING_RATE_EXTENSION_NAME},
         .device_next = &feature});
  const VkPipelineFragmentShadingRateStateCreateInfoKHR rate = {
      VK_STRUCTURE_TYPE_PIPELINE_FRAGMENT_SHADING_RATE_STATE_CREATE_INFO_KHR,
      nullptr,
      {2, 2},
      {VK_FRAGMENT_SHADING_RATE_COMBINER_OP_KEEP_KHR,
       VK_FRAGMENT_SHADING_RATE_COMBINER_OP_KEEP_KHR}};
  const Pipeline pipeline = make_graphics_pipeline(
      context(), {.stages = {{kVertex, full_screen_vert}, {kFragment, plain_frag}},
                  .layout = layout(),
                  .next = &rate});
  const VkExtent2D region = region_properties(context()).performanceCounterRegionSize;
  const VkExtent2D extent = {region.width * 2, region.height * 2};
  const RenderTarget target(context(), {.extent = extent});
  const Capture values(context(), {extent, {kInvocations, kSamples}});
  const StatisticsQuery statistics(context());
  context().run([&](VkCommandBuffer commands) {
    statistics.reset(commands);
    target.begin(commands, {0, 0, 0, 0}, 0, values.begin_info());
    statistics.begin(commands);
    draw_triangle(commands, pipeline);
    statistics.end(commands);
    target.end(commands);
    attachment_barrier(commands);
  });
  const uint32_t pixels = region.width * region.height;
  for (uint32_t row = 0; row < 2; ++row) {
    for (uint32_t column = 0; column < 2; ++column) {
      EXPECT_EQ(values.value(kInvocations, column, row), pixels / 4);
      EXPECT_EQ(values.value(kSamples, column, row), pixels);
    }
  }
  ASSERT_TRUE(statistics.available());
  EXPECT_EQ(values.sum(kInvocations), statistics.read().fragment_invocations);
}

// The subgroups contain the invocations and helpers that the driver reports.
TEST_F(RegionAnswers, a_whole_target_runs_in_full_subgroups) {
  const VkExtent2D extent = {256, 128};
  const RenderTarget target(context(), {.extent = extent});
  const Capture values(context(),
                       {extent, {"fragment_subgroups", "helper_invocations", kInvocations}});
  const Pipeline pipeline = make_rectangles(branchy_frag);
  capture(target, values,
          [&](VkCommandBuffer commands) { draw_unclipped(commands, pipeline, target); });
  EXPECT_EQ(values.sum("fragment_subgroups"), 256u * 128 / context().subgroup_size());
  EXPECT_EQ(values.sum("helper_invocations"), 0u);
}

TEST_F(RegionAnswers, regions_of_a_size_that_a_setting_gives) {
  start({{"region_size", "16x8"}});
  const VkExtent2D region = region_properties(context()).performanceCounterRegionSize;
  EXPECT_EQ(region.width, 16u);
  EXPECT_EQ(region.height, 8u);
  const RenderTarget target(context(), {.extent = {128, 64}});
  const Capture values(context(), {{128, 64}});
  EXPECT_EQ(values.columns(), 8u);
  const Pipeline pipeline = make_rectangles(plain_frag);
  capture(target, values, [&](VkCommandBuffer commands) {
    draw(commands, pipeline, {3, 3, 77, 50, 128, 64});
  });
  expect_pixels(values, kInvocations, context(), {{0, 0}, {128, 64}},
                [](uint32_t x, uint32_t y) { return x >= 3 && x < 77 && y >= 3 && y < 50; });
}

// The result must not depend on the memory type or addressing.
class RegionSettings : public RegionAnswers,
                       public testing::WithParamInterface<std::pair<const char*, const char*>> {};

TEST_P(RegionSettings, give_the_same_values) {
  start({GetParam()});
  const RenderTarget target(context(), {.extent = {128, 64}});
  const Capture values(context(), {{128, 64}, {kDiscarded, kInvocations}});
  const Pipeline pipeline = make_rectangles(discard_frag);
  capture(target, values,
          [&](VkCommandBuffer commands) { draw(commands, pipeline, whole(target)); });
  const VkRect2D area = {{0, 0}, {128, 64}};
  expect_pixels(values, kInvocations, context(), area, [](uint32_t, uint32_t) { return 1; });
  expect_pixels(values, kDiscarded, context(), area,
                [](uint32_t x, uint32_t y) { return (x + y) % 2 == 0; });
}

INSTANTIATE_TEST_SUITE_P(All, RegionSettings,
                         testing::Values(std::pair("record_address", "descriptor"),
                                         std::pair("record_address", "push_constant"),
                                         std::pair("record_memory", "device"),
                                         std::pair("record_memory", "host")));

}  // namespace
}  // namespace tally::test
