// Occlusion queries: the number of samples that pass.
#include <bit>

#include "api/queries/scenes.h"
#include "demote.frag.h"
#include "discard.frag.h"
#include "early_discard.frag.h"
#include "full_screen.vert.h"
#include "masked.frag.h"
#include "plain.frag.h"
#include "tiny_triangles.vert.h"

namespace tally::test {
namespace {

class Occlusion : public QueryTypes {};

TEST_F(Occlusion, counts_samples_that_are_drawn) {
  const auto scene = [&](VkSampleCountFlagBits samples) {
    const RenderTarget target(context(), {.samples = samples});
    GraphicsPipelineInfo info;
    info.samples = samples;
    const Pipeline pipeline =
        make_graphics({{kVertex, tiny_triangles_vert}, {kFragment, plain_frag}}, info);
    const Queries queries(context(), VK_QUERY_TYPE_OCCLUSION);
    context().run([&](VkCommandBuffer commands) {
      queries.reset(commands);
      target.begin(commands);
      queries.begin(commands, 0, VK_QUERY_CONTROL_PRECISE_BIT);
      draw(commands, pipeline, 3 * 1000);
      queries.end(commands);
      target.end(commands);
    });
    return queries.read();
  };
  for (const VkSampleCountFlagBits samples : {VK_SAMPLE_COUNT_1_BIT, VK_SAMPLE_COUNT_4_BIT}) {
    start(false);
    const auto drivers = scene(samples);
    start();
    EXPECT_EQ(scene(samples), drivers) << samples;
  }
}

TEST_F(Occlusion, does_not_count_what_is_behind) {
  const auto scene = [&](std::span<const uint32_t> fragment) {
    const RenderTarget target(context(), {.depth_format = VK_FORMAT_D32_SFLOAT});
    GraphicsPipelineInfo info;
    info.depth_format = VK_FORMAT_D32_SFLOAT;
    info.depth_test = info.depth_write = true;
    const Pipeline pipeline =
        make_graphics({{kVertex, tiny_triangles_vert}, {kFragment, fragment}}, info);
    const Queries queries(context(), VK_QUERY_TYPE_OCCLUSION);
    context().run([&](VkCommandBuffer commands) {
      queries.reset(commands);
      target.begin(commands);
      draw(commands, pipeline, 3 * 100);
      queries.begin(commands, 0, VK_QUERY_CONTROL_PRECISE_BIT);
      draw(commands, pipeline, 3 * 200);  // half of it has been drawn already
      queries.end(commands);
      target.end(commands);
    });
    return queries.read();
  };
  start(false);
  const auto drivers = scene(plain_frag);
  EXPECT_GT(drivers[0], 0u);
  start();
  EXPECT_EQ(scene(plain_frag), drivers);
}

TEST_F(Occlusion, counts_no_sample_of_discarded_fragments) {
  start();
  const RenderTarget target(context());
  const Pipeline pipeline = make_graphics({{kVertex, full_screen_vert}, {kFragment, discard_frag}});
  const Queries queries(context(), VK_QUERY_TYPE_OCCLUSION);
  context().run([&](VkCommandBuffer commands) {
    queries.reset(commands);
    target.begin(commands);
    queries.begin(commands, 0, VK_QUERY_CONTROL_PRECISE_BIT);
    draw(commands, pipeline, 3);
    queries.end(commands);
    target.end(commands);
  });
  EXPECT_EQ(queries.read()[0], 64u * 64 / 2);
}

class SamplesDropped : public EverySource {
 protected:
  static constexpr uint64_t kPixels = 64 * 64;

  void SetUp() override { start_source(); }

  // Samples of one triangle over a target with 4 samples; `prepare` records commands before the
  // draw.
  template <typename Prepare>
  uint64_t samples(std::span<const uint32_t> fragment, GraphicsPipelineInfo info,
                   const Prepare& prepare) {
    constexpr VkSampleCountFlagBits kSamples = VK_SAMPLE_COUNT_4_BIT;
    const RenderTarget target(context(), {.depth_format = info.depth_format, .samples = kSamples});
    info.samples = kSamples;
    const Pipeline pipeline =
        make_graphics({{kVertex, full_screen_vert}, {kFragment, fragment}}, std::move(info));
    const Queries queries(context(), VK_QUERY_TYPE_OCCLUSION);
    context().run([&](VkCommandBuffer commands) {
      queries.reset(commands);
      target.begin(commands);
      prepare(commands);
      queries.begin(commands, 0, VK_QUERY_CONTROL_PRECISE_BIT);
      draw(commands, pipeline, 3);
      queries.end(commands);
      target.end(commands);
    });
    return queries.read()[0];
  }
  uint64_t samples(std::span<const uint32_t> fragment, GraphicsPipelineInfo info = {}) {
    return samples(fragment, std::move(info), [](VkCommandBuffer) {});
  }
  static GraphicsPipelineInfo with_depth(VkCompareOp compare, bool write) {
    GraphicsPipelineInfo info;
    info.depth_format = VK_FORMAT_D32_SFLOAT;
    info.depth_test = true;
    info.depth_write = write;
    info.depth_compare = compare;
    return info;
  }
};

TEST_P(SamplesDropped, by_the_shaders_mask_do_not_count) {
  EXPECT_EQ(samples(masked_frag), kPixels * (2 + 3) / 2);
  EXPECT_EQ(samples(masked_frag, with_depth(VK_COMPARE_OP_ALWAYS, true)), kPixels * (2 + 3) / 2);
}

TEST_P(SamplesDropped, by_a_discard_do_not_count_unless_tests_are_early) {
  EXPECT_EQ(samples(discard_frag), 4 * kPixels / 2);
  EXPECT_EQ(samples(discard_frag, with_depth(VK_COMPARE_OP_ALWAYS, false)), 4 * kPixels / 2);
  EXPECT_EQ(samples(discard_frag, with_depth(VK_COMPARE_OP_ALWAYS, true)), 4 * kPixels / 2);
  EXPECT_EQ(samples(early_discard_frag, with_depth(VK_COMPARE_OP_NEVER, true)), 0u);
  if (!emulated() && driver_name() == "lavapipe") {
    GTEST_SKIP() << "lavapipe 22.3 leaves out samples that are discarded behind early tests";
  }
  EXPECT_EQ(samples(early_discard_frag, with_depth(VK_COMPARE_OP_ALWAYS, true)), 4 * kPixels);
}

TEST_P(SamplesDropped, by_a_demotion_do_not_count) {
  EXPECT_EQ(samples(demote_frag), 4 * kPixels / 2);
  EXPECT_EQ(samples(demote_frag, with_depth(VK_COMPARE_OP_ALWAYS, true)), 4 * kPixels / 2);
}

TEST_P(SamplesDropped, by_the_pipelines_mask_do_not_count) {
  GraphicsPipelineInfo info;
  info.sample_mask = 0x7;
  EXPECT_EQ(samples(plain_frag, info), 3 * kPixels);
  EXPECT_EQ(samples(masked_frag, info), kPixels * (2 + 2) / 2);
}

TEST_P(SamplesDropped, by_a_dynamic_mask_do_not_count) {
  VkPhysicalDeviceExtendedDynamicState3FeaturesEXT dynamic{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTENDED_DYNAMIC_STATE_3_FEATURES_EXT};
  VkPhysicalDeviceFeatures2 features{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, &dynamic};
  vkGetPhysicalDeviceFeatures2(context().gpu(), &features);
  if (!dynamic.extendedDynamicState3SampleMask) GTEST_SKIP() << "the driver has none";
  dynamic = {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTENDED_DYNAMIC_STATE_3_FEATURES_EXT};
  dynamic.extendedDynamicState3SampleMask = VK_TRUE;
  start_source({.device_extensions = {VK_EXT_EXTENDED_DYNAMIC_STATE_3_EXTENSION_NAME},
                .device_next = &dynamic});
  const auto set_mask = context().function<PFN_vkCmdSetSampleMaskEXT>("vkCmdSetSampleMaskEXT");
  GraphicsPipelineInfo info;
  info.dynamic = {VK_DYNAMIC_STATE_SAMPLE_MASK_EXT};
  for (const VkSampleMask mask : {0x0u, 0x8u, 0x7u, 0xfu}) {
    const auto prepare = [&](VkCommandBuffer commands) {
      set_mask(commands, VK_SAMPLE_COUNT_4_BIT, &mask);
    };
    EXPECT_EQ(samples(plain_frag, info, prepare), std::popcount(mask) * kPixels) << mask;
  }
}

TALLY_EVERY_SOURCE(SamplesDropped);

class SamplesPassed : public EverySource {
 protected:
  void SetUp() override { start_source(); }

  // The samples of `triangles` triangles over the whole target; 0 if none passes the depth test.
  uint64_t samples(uint32_t triangles, bool pass, VkQueryControlFlags flags) {
    const RenderTarget target(context(), {.depth_format = VK_FORMAT_D32_SFLOAT});
    GraphicsPipelineInfo info;
    info.depth_format = VK_FORMAT_D32_SFLOAT;
    info.depth_test = true;
    info.depth_compare = pass ? VK_COMPARE_OP_ALWAYS : VK_COMPARE_OP_NEVER;
    const Pipeline pipeline =
        make_graphics({{kVertex, full_screen_vert}, {kFragment, plain_frag}}, info);
    const Queries queries(context(), VK_QUERY_TYPE_OCCLUSION);
    context().run([&](VkCommandBuffer commands) {
      queries.reset(commands);
      target.begin(commands);
      draw(commands, pipeline, 3);
      queries.begin(commands, 0, flags);
      for (uint32_t i = 0; i < triangles; ++i) draw(commands, pipeline, 3);
      queries.end(commands);
      draw(commands, pipeline, 3);
      target.end(commands);
    });
    return queries.read()[0];
  }
};

TEST_P(SamplesPassed, precisely_are_the_sum_of_all_draws_from_zero) {
  for (const uint32_t triangles : {0u, 1u, 5u}) {
    EXPECT_EQ(samples(triangles, true, VK_QUERY_CONTROL_PRECISE_BIT), triangles * 64 * 64);
  }
}

TEST_P(SamplesPassed, precisely_are_none_where_none_passes_the_depth_test) {
  EXPECT_EQ(samples(3, false, VK_QUERY_CONTROL_PRECISE_BIT), 0u);
}

TEST_P(SamplesPassed, imprecisely_are_some_or_none) {
  EXPECT_NE(samples(1, true, 0), 0u);
  EXPECT_EQ(samples(1, false, 0), 0u);
  EXPECT_EQ(samples(0, true, 0), 0u);
}

TALLY_EVERY_SOURCE(SamplesPassed);

// No available driver supports inheritedQueries, so this tests the layer's.
TEST_F(Occlusion, goes_on_in_secondary_command_buffers_that_inherit_it) {
  start();
  const Pipeline pipeline = make_graphics({{kVertex, full_screen_vert}, {kFragment, plain_frag}});
  const RenderTarget target(context());
  VkCommandBufferInheritanceInfo inheritance{};
  inheritance.occlusionQueryEnable = VK_TRUE;
  inheritance.queryFlags = VK_QUERY_CONTROL_PRECISE_BIT;
  const VkCommandBuffer secondary =
      begin_secondary(target, VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT, inheritance);
  target.set_viewport(secondary);
  draw(secondary, pipeline, 3, 2);
  check(vkEndCommandBuffer(secondary));
  const Queries queries(context(), VK_QUERY_TYPE_OCCLUSION);
  const auto pass = [&](VkCommandBuffer commands) {
    target.begin(commands, {}, VK_RENDERING_CONTENTS_SECONDARY_COMMAND_BUFFERS_BIT);
    vkCmdExecuteCommands(commands, 1, &secondary);
    target.end(commands);
  };
  context().run([&](VkCommandBuffer commands) {
    queries.reset(commands);
    pass(commands);  // inherits a query that is not active, which is allowed
    queries.begin(commands, 0, VK_QUERY_CONTROL_PRECISE_BIT);
    pass(commands);
    queries.end(commands);
  });
  EXPECT_EQ(queries.read()[0], 2u * 64 * 64);
}

}  // namespace
}  // namespace tally::test
