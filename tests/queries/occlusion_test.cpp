// Occlusion queries: the samples that pass.
#include "discard.frag.h"
#include "full_screen.vert.h"
#include "plain.frag.h"
#include "queries/scenes.h"
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
      draw(commands, pipeline, 3 * 200);  // half of it is there already
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

class SamplesPassed : public EverySource {
 protected:
  void SetUp() override { start_source(); }

  // The samples of so many triangles over the whole target, none where nothing passes the depth
  // test.
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

// No driver at hand has inheritedQueries: the layer's.
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
    pass(commands);  // inherits what is not there: allowed
    queries.begin(commands, 0, VK_QUERY_CONTROL_PRECISE_BIT);
    pass(commands);
    queries.end(commands);
  });
  EXPECT_EQ(queries.read()[0], 2u * 64 * 64);
}

}  // namespace
}  // namespace tally::test
