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

}  // namespace
}  // namespace tally::test
