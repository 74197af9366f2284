// Draws with shader objects whose push constants are small leave the image and the constants as
// they are.
#include <algorithm>

#include "full_screen.vert.h"
#include "last_constant.comp.h"
#include "orange.frag.h"
#include "shader_object_answers.h"

namespace tally::test {
namespace {

const Stage kFullScreen = {kVertex, full_screen_vert};
const Stage kOrange = {kFragment, orange_frag};

// lavapipe 25.0 crashes where the push constants of two shaders are more than 256 bytes, all are
// between 0 and 1, and a constant colour fills a tile (PushGuard): with the layer's ranges they are
// more.
class SmallPushConstants : public ShaderObjectAnswers {
 protected:
  static constexpr std::array<float, 64> kSmall = {0, 1, 0.5f};

  // Updates push constants. Their layouts outlive the recording.
  struct Pushes {
    Context& context;
    std::vector<PipelineLayout> layouts;
    void push(VkCommandBuffer commands, uint32_t bytes) {
      layouts.push_back(make_pipeline_layout(context, {}, bytes));
      vkCmdPushConstants(commands, layouts.back(), VK_SHADER_STAGE_ALL, 0, bytes, kSmall.data());
    }
    void push_all(VkCommandBuffer commands) {
      const uint32_t all = context.properties().limits.maxPushConstantsSize;
      push(commands, std::min<uint32_t>(all, sizeof kSmall));
    }
  };

  // Records `before`, then fills a target with orange.
  template <typename Record>
  std::vector<uint32_t> draw(Context& context, VkShaderCreateFlagsEXT vertex_flags,
                             Record&& before) {
    constexpr VkExtent2D kTiles = {256, 256};
    std::vector<ShaderObjectInfo> created = infos({kFullScreen, kOrange}, Linking::Separate, 0);
    created[0].flags = vertex_flags;
    const RenderTarget target(context, {.extent = kTiles});
    const ShaderObjects shaders(context, created);
    Pushes pushes{context, {}};
    context.run([&](VkCommandBuffer commands) {
      before(pushes, commands);
      target.begin(commands);
      set_draw_state(context, commands, {.extent = kTiles});
      unbind_graphics_shaders(context, commands);
      shaders.bind(commands);
      vkCmdDraw(commands, 3, 1, 0, 0);
      target.end(commands);
    });
    return target.read();
  }
  template <typename Record>
  void expect_the_same(Record&& before) {
    const std::vector<uint32_t> bare = draw(*make_shader_object_context(false), 0, before);
    EXPECT_EQ(draw(*context_, 0, before), bare);
    EXPECT_EQ(draw(*context_, VK_SHADER_CREATE_INSTRUMENT_SHADER_BIT_ARM, before), bare);
  }
};

TEST_F(SmallPushConstants, draw_the_same_constant_colour) {
  expect_the_same([](Pushes& pushes, VkCommandBuffer commands) {  //
    pushes.push(commands, kPushBytes);
  });
}

TEST_F(SmallPushConstants, draw_the_same_after_others_filled_all_push_constants) {
  expect_the_same([](Pushes& pushes, VkCommandBuffer commands) {  //
    pushes.push_all(commands);
  });
  expect_the_same([](Pushes& pushes, VkCommandBuffer commands) {
    pushes.push_all(commands);
    pushes.push(commands, kPushBytes);
  });
  expect_the_same([](Pushes& pushes, VkCommandBuffer commands) {
    const VkCommandBuffer secondary = pushes.context.begin_secondary();
    pushes.push_all(secondary);
    check(vkEndCommandBuffer(secondary));
    vkCmdExecuteCommands(commands, 1, &secondary);
  });
}

TEST_F(SmallPushConstants, a_draw_leaves_those_of_others_as_they_are) {
  constexpr uint32_t kAll = sizeof kSmall;
  if (context_->properties().limits.maxPushConstantsSize != kAll) GTEST_SKIP() << "not 256 bytes";
  const Buffer value(*context_, 4);
  const StorageSet set(*context_, {value});
  const VkDescriptorSetLayout set_layout = set.layout();
  const PipelineLayout layout = make_pipeline_layout(*context_, {&set_layout, 1}, kAll);
  const Pipeline pipeline = make_compute_pipeline(
      *context_, {.shader = {kCompute, last_constant_comp}, .layout = layout});
  const ShaderObjects shaders(*context_, infos({kFullScreen, kOrange}, Linking::Separate, 0));
  std::array<float, 64> constants = kSmall;
  constants.back() = 0.25f;
  context_->run([&](VkCommandBuffer commands) {
    vkCmdPushConstants(commands, layout, VK_SHADER_STAGE_ALL, 0, kAll, constants.data());
    target_->begin(commands);
    prepare(commands, {});
    shaders.bind(commands);
    vkCmdDraw(commands, 3, 1, 0, 0);
    target_->end(commands);
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
    set.bind(commands, layout);
    vkCmdDispatch(commands, 1, 1, 1);
    full_barrier(commands);
  });
  EXPECT_EQ(value.as<float>()[0], 0.25f);
}

}  // namespace
}  // namespace tally::test
