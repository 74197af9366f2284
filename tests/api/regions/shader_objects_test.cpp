// Counters by region of draws with shader objects, against those of the same draws with pipelines.
#include "support/shader_objects.h"
#include "api/regions/kit.h"
#include "branchy.frag.h"
#include "discard.frag.h"
#include "rectangle.vert.h"

namespace tally::test {
namespace {

constexpr VkShaderCreateFlagsEXT kLinked = 0x1;

class RegionShaderObjects : public RegionsTest {
 protected:
  static constexpr VkExtent2D kExtent = {128, 96};

  void SetUp() override {
    if (!Context().has_extension(VK_EXT_SHADER_OBJECT_EXTENSION_NAME)) {
      GTEST_SKIP() << "no shader objects";
    }
    start({}, true,
          {.device_extensions = {VK_EXT_SHADER_OBJECT_EXTENSION_NAME}, .device_next = &feature_});
    layout_ = make_pipeline_layout(context(), {}, sizeof(RectanglePush));
  }

  ShaderObjects make_shaders(std::span<const uint32_t> fragment, VkShaderCreateFlagsEXT flags) {
    return ShaderObjects(context(),
                         {{{kVertex, rectangle_vert},
                           VK_SHADER_STAGE_FRAGMENT_BIT,
                           flags,
                           {},
                           sizeof(RectanglePush),
                           {}},
                          {{kFragment, fragment}, 0, flags, {}, sizeof(RectanglePush), {}}});
  }
  void draw_rectangle(VkCommandBuffer commands, const RectanglePush& push) const {
    vkCmdPushConstants(commands, layout_, VK_SHADER_STAGE_ALL, 0, sizeof push, &push);
    vkCmdDraw(commands, 4, 1, 0, 0);
  }
  void bind(VkCommandBuffer commands, const ShaderObjects& shaders) {
    set_draw_state(context(), commands,
                   {.extent = kExtent, .topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_STRIP});
    unbind_graphics_shaders(context(), commands);
    shaders.bind(commands);
  }

  VkPhysicalDeviceShaderObjectFeaturesEXT feature_ = {
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_OBJECT_FEATURES_EXT, nullptr, VK_TRUE};
  PipelineLayout layout_;
};

TEST_F(RegionShaderObjects, every_region_counts_its_own_pixels) {
  const RenderTarget target(context(), {.extent = kExtent});
  for (const VkShaderCreateFlagsEXT flags : {VkShaderCreateFlagsEXT{0}, kLinked}) {
    const ShaderObjects shaders = make_shaders(branchy_frag, flags);
    const Capture values(context(), {kExtent});
    capture(target, values, [&](VkCommandBuffer commands) {
      bind(commands, shaders);
      draw_rectangle(commands, {50, 20, 71, 41, 128, 96});
      draw_rectangle(commands, {0, 0, 128, 96, 128, 96});
    });
    expect_pixels(values, kInvocations, context(), {{0, 0}, kExtent}, [](uint32_t x, uint32_t y) {
      return 1 + (x >= 50 && x < 71 && y >= 20 && y < 41 ? 1 : 0);
    });
    values.expect_layout();
  }
}

// Instrumentation and regions at once, and only regions for shaders without the flag.
TEST_F(RegionShaderObjects, blocks_are_counted_beside_regions) {
  const RenderTarget target(context(), {.extent = kExtent});
  for (const VkShaderCreateFlagsEXT flags :
       {VkShaderCreateFlagsEXT{0},
        VkShaderCreateFlagsEXT{VK_SHADER_CREATE_INSTRUMENT_SHADER_BIT_ARM},
        VK_SHADER_CREATE_INSTRUMENT_SHADER_BIT_ARM | kLinked}) {
    const ShaderObjects shaders = make_shaders(discard_frag, flags);
    const Instrumentation instrumentation(context());
    const Capture values(context(), {kExtent, {kInvocations, kDiscarded}});
    context().run([&](VkCommandBuffer commands) {
      instrumentation.begin(commands);
      target.begin(commands, {0, 0, 0, 0}, 0, values.begin_info());
      bind(commands, shaders);
      draw_rectangle(commands, {0, 0, 128, 96, 128, 96});
      target.end(commands);
      instrumentation.end(commands);
      attachment_barrier(commands);
      full_barrier(commands);
    });
    EXPECT_EQ(values.sum(kInvocations), uint64_t{128} * 96);
    EXPECT_GT(values.sum(kDiscarded), 0u);
    const bool flagged = (flags & VK_SHADER_CREATE_INSTRUMENT_SHADER_BIT_ARM) != 0;
    EXPECT_EQ(instrumentation.read().empty(), !flagged);
    if (flagged) {
      EXPECT_EQ(Counts(instrumentation, kFragment, discard_frag).invocations(), uint64_t{128} * 96);
    }
  }
}

}  // namespace
}  // namespace tally::test
