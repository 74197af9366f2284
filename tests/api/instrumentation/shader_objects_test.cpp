// Lifetimes and limits of shader objects. Their counts: tests/known_answers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "branchy.frag.h"
#include "patch.vert.h"
#include "support/instrumentation.h"
#include "support/render_target.h"
#include "support/shader_objects.h"
#include "support/stages.h"
#include "work.comp.h"

namespace tally::test {
namespace {

constexpr VkShaderCreateFlagsEXT kInstrumentShader = VK_SHADER_CREATE_INSTRUMENT_SHADER_BIT_ARM;

class ShaderObjectRules : public testing::Test {
 protected:
  void SetUp() override {
    context_ = make_shader_object_context(true);
    if (!context_) GTEST_SKIP() << "no shader objects";
    target_ = std::make_unique<RenderTarget>(*context_);
  }
  std::unique_ptr<ShaderObjects> make_shaders(uint32_t push_bytes = 0) const {
    return std::make_unique<ShaderObjects>(
        *context_, std::vector<ShaderObjectInfo>{
                       {{kVertex, patch_vert}, kFragment, kInstrumentShader, {}, push_bytes, {}},
                       {{kFragment, branchy_frag}, 0, kInstrumentShader, {}, push_bytes, {}}});
  }
  void draw(VkCommandBuffer commands, const ShaderObjects& shaders) const {
    set_draw_state(*context_, commands);
    unbind_graphics_shaders(*context_, commands);
    shaders.bind(commands);
    vkCmdDraw(commands, 3, 1, 0, 0);
  }
  void measure(const Instrumentation& instrumentation, const ShaderObjects& shaders) const {
    context_->run([&](VkCommandBuffer commands) {
      instrumentation.begin(commands);
      target_->begin(commands);
      draw(commands, shaders);
      target_->end(commands);
      instrumentation.end(commands);
      full_barrier(commands);
    });
  }

  std::unique_ptr<Context> context_;
  std::unique_ptr<RenderTarget> target_;
};

TEST_F(ShaderObjectRules, values_outlive_the_shaders) {
  const Instrumentation instrumentation(*context_);
  for (uint32_t i = 0; i < 3; ++i) measure(instrumentation, *make_shaders());
  for (uint32_t i = 0; i < 3; ++i) {
    EXPECT_EQ(Counts(instrumentation, kVertex, patch_vert, i).invocations(), 3u) << i;
  }
}

TEST_F(ShaderObjectRules, a_null_handle_may_be_destroyed) {
  context_->function<PFN_vkDestroyShaderEXT>("vkDestroyShaderEXT")(context_->device(),
                                                                   VK_NULL_HANDLE, nullptr);
}

TEST_F(ShaderObjectRules, nothing_counts_outside_of_a_range) {
  const auto shaders = make_shaders();
  const Instrumentation instrumentation(*context_);
  context_->run([&](VkCommandBuffer commands) {
    target_->begin(commands);
    draw(commands, *shaders);
    target_->end(commands);
    full_barrier(commands);
  });
  EXPECT_THAT(instrumentation.read(), testing::IsEmpty());
}

TEST_F(ShaderObjectRules, secondary_command_buffers_count) {
  const auto shaders = make_shaders();
  const Instrumentation instrumentation(*context_);
  const VkFormat format = target_->info().color_format;
  VkCommandBufferInheritanceRenderingInfo rendering{
      VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_RENDERING_INFO};
  rendering.colorAttachmentCount = 1;
  rendering.pColorAttachmentFormats = &format;
  rendering.rasterizationSamples = VK_SAMPLE_COUNT_1_BIT;
  const VkCommandBuffer secondary = context_->begin_secondary(
      {.pNext = &rendering}, VK_COMMAND_BUFFER_USAGE_RENDER_PASS_CONTINUE_BIT);
  instrumentation.begin(secondary);
  draw(secondary, *shaders);
  instrumentation.end(secondary);
  check(vkEndCommandBuffer(secondary));
  context_->run([&](VkCommandBuffer commands) {
    target_->begin(commands, {0, 0, 0, 0}, VK_RENDERING_CONTENTS_SECONDARY_COMMAND_BUFFERS_BIT);
    vkCmdExecuteCommands(commands, 1, &secondary);
    target_->end(commands);
    full_barrier(commands);
  });
  EXPECT_EQ(Counts(instrumentation, kVertex, patch_vert, 0).invocations(), 3u);
}

// Draws need a pointer for each stage. A dispatch finds its pointer in a descriptor.
TEST_F(ShaderObjectRules, push_constants_that_leave_no_room_are_named) {
  const uint32_t all = context_->properties().limits.maxPushConstantsSize;
  const auto shaders = make_shaders(all);
  const Instrumentation instrumentation(*context_);
  measure(instrumentation, *shaders);
  EXPECT_THAT(instrumentation.read(), testing::IsEmpty());
  std::vector<std::string> texts;
  for (const Message& message : context_->messages()) texts.push_back(message.text);
  EXPECT_THAT(texts, testing::Contains(testing::HasSubstr(
                         "shader objects need space for record pointers in the push constants")));

  const Buffer values(*context_, 4096);
  const StorageSet set(*context_, {values});
  const VkDescriptorSetLayout set_layout = set.layout();
  const PipelineLayout layout = make_pipeline_layout(*context_, {&set_layout, 1}, all);
  const ShaderObjects compute(
      *context_, {{.shader = {kCompute, work_comp}, .sets = {set_layout}, .push_bytes = all}});
  const std::vector<uint32_t> constants(all / 4);
  const Instrumentation of_compute(*context_);
  context_->run([&](VkCommandBuffer commands) {
    of_compute.begin(commands);
    set.bind(commands, layout);
    vkCmdPushConstants(commands, layout, VK_SHADER_STAGE_ALL, 0, all, constants.data());
    compute.bind(commands);
    vkCmdDispatch(commands, 2, 1, 1);
    of_compute.end(commands);
    full_barrier(commands);
  });
  EXPECT_EQ(Counts(of_compute, kCompute, work_comp, 0).invocations(), 16u);
}

}  // namespace
}  // namespace tally::test
