// Compares counts of vertex and fragment shaders with values computed by hand and with the driver's
// statistics.
#include "branchy.frag.h"
#include "demote.frag.h"
#include "discard.frag.h"
#include "known_answers.h"
#include "per_sample.frag.h"
#include "plain.frag.h"
#include "rectangle.vert.h"
#include "storage_early.frag.h"
#include "storage_late.frag.h"
#include "support/stages.h"
#include "tiny_triangles.vert.h"

namespace tally::test {
namespace {

class FragmentAnswers : public KnownAnswers {
 protected:
  // An instrumented pipeline that draws rectangles with `fragment`; `more` overrides the defaults.
  Pipeline make_pipeline(std::span<const uint32_t> fragment, GraphicsPipelineInfo more = {}) {
    more.stages = {{kVertex, rectangle_vert}, {kFragment, fragment}};
    more.layout = layout_;
    more.topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_STRIP;
    more.next = &kInstrument;
    return make_graphics_pipeline(context_, more);
  }
  // The driver's statistic may include helper invocations: llvmpipe counts whole 4x4 pixel blocks.
  void expect_at_most_the_drivers_fragments(uint64_t invocations) {
    if (has_statistics()) {
      EXPECT_GE(statistics_->read().fragment_invocations, invocations);
    }
  }
  // A driver may shade the two vertices shared by a strip's triangles once or twice.
  static void expect_strip_vertices(uint64_t invocations, uint64_t strips) {
    EXPECT_TRUE(invocations == 4 * strips || invocations == 6 * strips) << invocations;
  }

  Buffer counter_{context_, 64};
  StorageSet set_{context_, {counter_}};
  PipelineLayout layout_ = make_pipeline_layout(context_, {{set_.layout()}}, sizeof(RectanglePush));
};

constexpr RectanglePush kWhole = {0, 0, 64, 64, 64, 64, 0.5f};

TEST_F(FragmentAnswers, a_rectangle_has_as_many_fragments_as_pixels) {
  const RenderTarget target(context_);
  const Pipeline pipeline = make_pipeline(plain_frag);
  measure_drawing(target, [&](VkCommandBuffer commands) {
    draw_rectangle(commands, pipeline, layout_, {3, 5, 40, 24, 64, 64, 0.5f});
  });
  expect_strip_vertices(counts(kVertex, rectangle_vert).invocations(), 1);
  EXPECT_EQ(counts(kFragment, plain_frag).invocations(), 37u * 19);
  EXPECT_EQ(occlusion_.read(), 37u * 19);
  expect_at_most_the_drivers_fragments(37 * 19);
}

TEST_F(FragmentAnswers, instances_and_overdraw_add_up) {
  const RenderTarget target(context_);
  const Pipeline pipeline = make_pipeline(plain_frag);
  measure_drawing(target, [&](VkCommandBuffer commands) {
    draw_rectangle(commands, pipeline, layout_, kWhole, 7);
    draw_rectangle(commands, pipeline, layout_, {0, 0, 32, 32, 64, 64, 0.5f}, 3);
  });
  expect_strip_vertices(counts(kVertex, rectangle_vert, 0).invocations(), 7);
  EXPECT_EQ(counts(kFragment, plain_frag, 0).invocations(), 64u * 64 * 7);
  expect_strip_vertices(counts(kVertex, rectangle_vert, 1).invocations(), 3);
  EXPECT_EQ(counts(kFragment, plain_frag, 1).invocations(), 32u * 32 * 3);
  expect_at_most_the_drivers_fragments(64 * 64 * 7 + 32 * 32 * 3);
  if (has_statistics()) {
    EXPECT_EQ(statistics_->read().vertex_invocations,
              counts(kVertex, rectangle_vert, 0).invocations() +
                  counts(kVertex, rectangle_vert, 1).invocations());
  }
}

// Some drivers cull fragments behind an opaque triangle if nothing can observe them.
TEST_F(FragmentAnswers, what_is_painted_over_has_run) {
  const RenderTarget target(context_, {.extent = {512, 512}});
  const Pipeline pipeline = make_pipeline(plain_frag);
  measure_drawing(target, [&](VkCommandBuffer commands) {
    draw_rectangle(commands, pipeline, layout_, {0, 0, 512, 512, 512, 512, 0.5f}, 2);
    draw_rectangle(commands, pipeline, layout_, {0, 0, 512, 512, 512, 512, 0.5f});
  });
  EXPECT_EQ(counts(kFragment, plain_frag, 0).invocations(), 512u * 512 * 2);
  EXPECT_EQ(counts(kFragment, plain_frag, 1).invocations(), 512u * 512);
}

TEST_F(FragmentAnswers, killed_invocations_are_counted_until_they_die) {
  const RenderTarget target(context_);
  const Pipeline pipeline = make_pipeline(discard_frag);
  measure_drawing(target, [&](VkCommandBuffer commands) {
    draw_rectangle(commands, pipeline, layout_, kWhole);
  });
  const Counts fragments = counts(kFragment, discard_frag);
  EXPECT_EQ(fragments.invocations(), 64u * 64);
  EXPECT_EQ(fragments.at("killed"), 64u * 32);
  EXPECT_EQ(fragments.at("kept"), 64u * 32);
  EXPECT_EQ(occlusion_.read(), 64u * 32);
}

TEST_F(FragmentAnswers, demoted_invocations_no_longer_count) {
  const RenderTarget target(context_);
  const Pipeline pipeline = make_pipeline(demote_frag);
  measure_drawing(target, [&](VkCommandBuffer commands) {
    draw_rectangle(commands, pipeline, layout_, kWhole);
  });
  const Counts fragments = counts(kFragment, demote_frag);
  EXPECT_EQ(fragments.invocations(), 64u * 64);
  EXPECT_EQ(fragments.at("demoted"), 64u * 32);
  EXPECT_EQ(fragments.at("after"), 64u * 32);
  EXPECT_EQ(occlusion_.read(), 64u * 32);
}

// Draws a near rectangle over the left half, then `fragment` over the whole target at a greater
// depth.
class DepthAnswers : public FragmentAnswers {
 protected:
  void draw_behind_half(std::span<const uint32_t> fragment) {
    const RenderTarget target(context_, {.depth_format = VK_FORMAT_D32_SFLOAT});
    const GraphicsPipelineInfo depth = {
        .depth_format = VK_FORMAT_D32_SFLOAT, .depth_test = true, .depth_write = true};
    const Pipeline near = make_pipeline(plain_frag, depth);
    const Pipeline far = make_pipeline(fragment, depth);
    measure_drawing(target, [&](VkCommandBuffer commands) {
      set_.bind(commands, layout_, VK_PIPELINE_BIND_POINT_GRAPHICS);
      draw_rectangle(commands, near, layout_, {0, 0, 32, 64, 64, 64, 0.25f});
      draw_rectangle(commands, far, layout_, {0, 0, 64, 64, 64, 64, 0.75f});
    });
    EXPECT_EQ(occlusion_.read(), 64u * 64);
  }
};

TEST_F(DepthAnswers, a_shader_without_effects_still_runs_after_the_early_depth_test) {
  draw_behind_half(plain_frag);
  EXPECT_EQ(counts(kFragment, plain_frag, 1).invocations(), 32u * 64);
}

TEST_F(DepthAnswers, a_shader_with_early_tests_runs_where_the_test_passes) {
  draw_behind_half(storage_early_frag);
  EXPECT_EQ(counts(kFragment, storage_early_frag, 1).invocations(), 32u * 64);
  EXPECT_EQ(counter_.as<uint32_t>()[0], 32u * 64);
}

TEST_F(DepthAnswers, a_shader_with_side_effects_runs_before_the_late_depth_test) {
  draw_behind_half(storage_late_frag);
  EXPECT_EQ(counts(kFragment, storage_late_frag, 1).invocations(), 64u * 64);
  EXPECT_EQ(counter_.as<uint32_t>()[0], 64u * 64);
}

TEST_F(FragmentAnswers, multisampling_without_sample_shading_runs_once_a_pixel) {
  const RenderTarget target(context_, {.samples = VK_SAMPLE_COUNT_4_BIT});
  const Pipeline pipeline = make_pipeline(plain_frag, {.samples = VK_SAMPLE_COUNT_4_BIT});
  measure_drawing(target, [&](VkCommandBuffer commands) {
    draw_rectangle(commands, pipeline, layout_, kWhole);
  });
  // Pixels on the diagonal have samples in both triangles, and run for each.
  EXPECT_EQ(counts(kFragment, plain_frag).invocations(), 64u * 64 + 64);
  EXPECT_EQ(occlusion_.read(), 64u * 64 * 4);
  expect_at_most_the_drivers_fragments(64 * 64 + 64);
}

TEST_F(FragmentAnswers, sample_shading_runs_once_a_sample) {
  if (!context_.features().sampleRateShading) GTEST_SKIP() << "no sampleRateShading";
  const RenderTarget target(context_, {.samples = VK_SAMPLE_COUNT_4_BIT});
  const Pipeline pipeline =
      make_pipeline(per_sample_frag, {.samples = VK_SAMPLE_COUNT_4_BIT, .min_sample_shading = 1});
  measure_drawing(target, [&](VkCommandBuffer commands) {
    draw_rectangle(commands, pipeline, layout_, kWhole);
  });
  const Counts fragments = counts(kFragment, per_sample_frag);
  EXPECT_EQ(fragments.invocations(), 64u * 64 * 4);
  EXPECT_EQ(fragments.at("third_sample"), 64u * 64);
}

TEST_F(FragmentAnswers, multiview_is_summed_over_the_views) {
  const RenderTarget target(context_, {.view_mask = 0b11});
  const Pipeline pipeline = make_pipeline(plain_frag, {.view_mask = 0b11});
  measure_drawing(target, [&](VkCommandBuffer commands) {
    draw_rectangle(commands, pipeline, layout_, kWhole);
  });
  // A vertex shader that does not read the view index may serve both views at once.
  const uint64_t vertices = counts(kVertex, rectangle_vert, 0).invocations();
  expect_strip_vertices(vertices, vertices < 8 ? 1 : 2);
  EXPECT_EQ(counts(kFragment, plain_frag, 0).invocations(), 64u * 64 * 2);
}

TEST_F(FragmentAnswers, one_indirect_command_of_many_draws_is_one_result) {
  if (!context_.features().multiDrawIndirect) GTEST_SKIP() << "no multiDrawIndirect";
  const RenderTarget target(context_);
  const Buffer arguments(context_, 3 * sizeof(VkDrawIndirectCommand),
                         VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT);
  arguments.as<VkDrawIndirectCommand>()[0] = {4, 1, 0, 0};
  arguments.as<VkDrawIndirectCommand>()[1] = {4, 0, 0, 0};  // no instances
  arguments.as<VkDrawIndirectCommand>()[2] = {3, 2, 0, 0};  // half of the target, twice
  const Pipeline pipeline = make_pipeline(plain_frag);
  measure_drawing(target, [&](VkCommandBuffer commands) {
    draw_rectangle(commands, pipeline, layout_, {0, 0, 2, 2, 64, 64, 0.5f});
    vkCmdPushConstants(commands, layout_, VK_SHADER_STAGE_ALL, 0, sizeof(kWhole), &kWhole);
    vkCmdDrawIndirect(commands, arguments, 0, 3, sizeof(VkDrawIndirectCommand));
  });
  expect_strip_vertices(counts(kVertex, rectangle_vert, 1).invocations() - 3 * 2, 1);
  // The diagonal of a 64-pixel square passes through 64 pixel centres, each of which belongs to one
  // of the halves.
  const uint64_t fragments = counts(kFragment, plain_frag, 1).invocations();
  EXPECT_TRUE(fragments == 64u * 64 + 2 * (64 * 63 / 2) ||
              fragments == 64u * 64 + 2 * (64 * 65 / 2))
      << fragments;
  EXPECT_EQ(occlusion_.read(), 4 + fragments);
  expect_at_most_the_drivers_fragments(4 + fragments);
}

TEST_F(FragmentAnswers, ten_thousand_tiny_triangles_match_the_drivers_occlusion_query) {
  const RenderTarget target(context_, {.extent = {256, 256}});
  const Pipeline pipeline = make_graphics_pipeline(
      context_, {.stages = {{kVertex, tiny_triangles_vert}, {kFragment, branchy_frag}},
                 .layout = layout_,
                 .next = &kInstrument});
  measure_drawing(target, [&](VkCommandBuffer commands) {
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, pipeline);
    vkCmdDraw(commands, 30000, 1, 0, 0);
  });
  const Counts fragments = counts(kFragment, branchy_frag);
  EXPECT_GT(fragments.invocations(), 10000u);
  EXPECT_EQ(fragments.invocations(), occlusion_.read());
  EXPECT_EQ(fragments.at("even") + fragments.at("odd"), occlusion_.read());
  EXPECT_EQ(counts(kVertex, tiny_triangles_vert).invocations(), 30000u);
  expect_at_most_the_drivers_fragments(fragments.invocations());
}

}  // namespace
}  // namespace tally::test
