// Occlusion queries where depth and stencil tests drop samples after fragment shaders have begun,
// or where there are none.
#include "alpha.frag.h"
#include "api/queries/occlusion_scene.h"
#include "depth_columns.frag.h"
#include "discard.frag.h"
#include "early_discard.frag.h"
#include "early_stores.frag.h"
#include "layers.vert.h"
#include "stores.frag.h"

namespace tally::test {
namespace {

class OcclusionDrops : public OcclusionOfEverySource {
 protected:
  static GraphicsPipelineInfo with_stencil(uint32_t reference) {
    GraphicsPipelineInfo info =
        with_depth(VK_COMPARE_OP_ALWAYS, true, VK_FORMAT_D32_SFLOAT_S8_UINT);
    info.stencil_test = true;
    info.stencil_reference = reference;
    return info;
  }
};

TEST_P(OcclusionDrops, samples_behind_what_is_drawn_whoever_tests_them) {
  for (const VkSampleCountFlagBits count : kSampleCounts) {
    for (const Code fragment : {Code(plain_frag), Code(stores_frag), Code(early_stores_frag)}) {
      GraphicsPipelineInfo info = with_depth(VK_COMPARE_OP_LESS);
      info.samples = count;
      EXPECT_EQ(samples(fragment, info), 0u) << count;
      info.depth_compare = VK_COMPARE_OP_LESS_OR_EQUAL;
      EXPECT_EQ(samples(fragment, info), kPixels * count) << count;
      info.depth_write = false;
      EXPECT_EQ(samples(fragment, info), kPixels * count) << count;
      info.depth_test = false;
      EXPECT_EQ(samples(fragment, info), kPixels * count) << count;
      info.depth_format = VK_FORMAT_UNDEFINED;
      EXPECT_EQ(samples(fragment, info), kPixels * count) << count;
    }
  }
}

TEST_P(OcclusionDrops, samples_by_the_depth_that_the_shader_writes) {
  for (const VkSampleCountFlagBits count : kSampleCounts) {
    GraphicsPipelineInfo info = with_depth(VK_COMPARE_OP_LESS);
    info.samples = count;
    EXPECT_EQ(samples(depth_columns_frag, info), kPixels * count / 2);
    info.depth_compare = VK_COMPARE_OP_GREATER;
    EXPECT_EQ(samples(depth_columns_frag, info), kPixels * count / 2);
    info.depth_compare = VK_COMPARE_OP_EQUAL;
    EXPECT_EQ(samples(depth_columns_frag, info), 0u);
    info.depth_compare = VK_COMPARE_OP_ALWAYS;
    EXPECT_EQ(samples(depth_columns_frag, info), kPixels * count);
    info.depth_format = VK_FORMAT_UNDEFINED;
    EXPECT_EQ(samples(depth_columns_frag, info), kPixels * count);
  }
}

TEST_P(OcclusionDrops, samples_of_discards_where_depth_is_written) {
  for (const VkSampleCountFlagBits count : kSampleCounts) {
    GraphicsPipelineInfo info = with_depth(VK_COMPARE_OP_LESS_OR_EQUAL);
    info.samples = count;
    EXPECT_EQ(samples(discard_frag, info), kPixels * count / 2);
    info.depth_compare = VK_COMPARE_OP_LESS;
    EXPECT_EQ(samples(discard_frag, info), 0u);
    EXPECT_EQ(samples(early_discard_frag, info), 0u);
  }
}

TEST_P(OcclusionDrops, samples_by_the_stencil_test) {
  for (const VkSampleCountFlagBits count : kSampleCounts) {
    for (const Code fragment :
         {Code(plain_frag), Code(stores_frag), Code(early_stores_frag), Code(alpha_frag)}) {
      GraphicsPipelineInfo info = with_stencil(0);
      info.samples = count;
      EXPECT_EQ(samples(fragment, info), kPixels * count);
      info.stencil_reference = 1;
      EXPECT_EQ(samples(fragment, info), 0u);
    }
    GraphicsPipelineInfo info = with_stencil(0);
    info.samples = count;
    EXPECT_EQ(samples(discard_frag, info), kPixels * count / 2);
    info.stencil_reference = 1;
    EXPECT_EQ(samples(discard_frag, info), 0u);
  }
}

TEST_P(OcclusionDrops, samples_behind_others_of_the_same_draw) {
  for (const VkSampleCountFlagBits count : kSampleCounts) {
    for (const Code fragment : {Code(plain_frag), Code(stores_frag), Code(early_stores_frag)}) {
      GraphicsPipelineInfo info = with_depth(VK_COMPARE_OP_LESS);
      info.samples = count;
      Draw layers{layers_vert, fragment, info, 4, 0};
      EXPECT_EQ(samples(layers), kPixels * count) << "from the front";
      layers.level = 1;
      EXPECT_EQ(samples(layers), 4 * kPixels * count) << "from the back";
    }
  }
}

TEST_P(OcclusionDrops, samples_of_draws_without_a_fragment_shader) {
  for (const VkSampleCountFlagBits count : kSampleCounts) {
    GraphicsPipelineInfo info = with_depth(VK_COMPARE_OP_LESS_OR_EQUAL);
    info.samples = count;
    EXPECT_EQ(samples({.info = info}), kPixels * count);
    info.depth_compare = VK_COMPARE_OP_LESS;
    EXPECT_EQ(samples({.info = info}), 0u);
  }
}

TEST_P(OcclusionDrops, samples_by_tests_that_are_switched_on_dynamically) {
  for (const Code fragment : {Code(plain_frag), Code(stores_frag), Code(early_stores_frag)}) {
    for (const VkSampleCountFlagBits count : kSampleCounts) {
      GraphicsPipelineInfo info = with_stencil(1);
      info.samples = count;
      info.dynamic = {VK_DYNAMIC_STATE_DEPTH_TEST_ENABLE, VK_DYNAMIC_STATE_DEPTH_COMPARE_OP,
                      VK_DYNAMIC_STATE_DEPTH_BOUNDS_TEST_ENABLE,
                      VK_DYNAMIC_STATE_STENCIL_TEST_ENABLE};
      const auto with = [&](VkBool32 depth, VkCompareOp compare, VkBool32 stencil) {
        return samples({.fragment = fragment, .info = info}, [=](VkCommandBuffer commands) {
          vkCmdSetDepthTestEnable(commands, depth);
          vkCmdSetDepthCompareOp(commands, compare);
          vkCmdSetDepthBoundsTestEnable(commands, VK_FALSE);
          vkCmdSetStencilTestEnable(commands, stencil);
        });
      };
      EXPECT_EQ(with(VK_FALSE, VK_COMPARE_OP_NEVER, VK_FALSE), kPixels * count);
      EXPECT_EQ(with(VK_TRUE, VK_COMPARE_OP_NEVER, VK_FALSE), 0u);
      EXPECT_EQ(with(VK_TRUE, VK_COMPARE_OP_EQUAL, VK_FALSE), kPixels * count);
      EXPECT_EQ(with(VK_TRUE, VK_COMPARE_OP_ALWAYS, VK_TRUE), 0u);
    }
  }
}

TEST_P(OcclusionDrops, no_samples_where_rasterization_is_off_between_other_draws) {
  if (!emulated() && driver_name() == "swiftshader") {
    GTEST_SKIP() << "SwiftShader's own query never becomes available";
  }
  GraphicsPipelineInfo info = with_depth(VK_COMPARE_OP_LESS_OR_EQUAL);
  const Pipeline stores = make(full_screen_vert, stores_frag, info);
  info.dynamic = {VK_DYNAMIC_STATE_RASTERIZER_DISCARD_ENABLE};
  const Pipeline switched = make(full_screen_vert, stores_frag, info);
  const RenderTarget target(context(), {.depth_format = info.depth_format});
  const Queries queries(context(), VK_QUERY_TYPE_OCCLUSION);
  context().run([&](VkCommandBuffer commands) {
    queries.reset(commands);
    pass(commands, target, [&] {
      queries.begin(commands, 0, VK_QUERY_CONTROL_PRECISE_BIT);
      draw(commands, stores, 3);
      for (const VkBool32 off : {VK_TRUE, VK_FALSE, VK_TRUE}) {
        vkCmdSetRasterizerDiscardEnable(commands, off);
        draw(commands, switched, 3);
      }
      draw(commands, stores, 3);
      queries.end(commands);
    });
  });
  EXPECT_EQ(queries.read()[0], 3 * kPixels);
}

TALLY_EVERY_SOURCE(OcclusionDrops);

}  // namespace
}  // namespace tally::test
