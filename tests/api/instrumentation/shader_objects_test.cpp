// Lifetimes and limits of shader objects. Their counts: tests/known_answers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "alpha.frag.h"
#include "branchy.frag.h"
#include "full_screen.vert.h"
#include "orange.frag.h"
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

// White triangles whose alpha rises from left to right, and orange ones behind them, whose alpha is
// 1.
class ShaderObjectsWithAlpha : public ShaderObjectRules,
                               public testing::WithParamInterface<VkShaderCreateFlagsEXT> {
 protected:
  struct Draw {
    const ShaderObjects* shaders;
    float depth;
    bool alpha_to_coverage;
  };
  struct Result {
    std::vector<uint32_t> picture;
    uint64_t invocations = 0;  // of the white fragment shader
  };

  void SetUp() override {
    ShaderObjectRules::SetUp();
    if (!context_) return;
    target_ = std::make_unique<RenderTarget>(
        *context_,
        RenderTargetInfo{.depth_format = VK_FORMAT_D32_SFLOAT, .samples = VK_SAMPLE_COUNT_4_BIT});
    white_ = make(alpha_frag, kInstrumentShader);
    orange_ = make(orange_frag, 0);
  }
  std::unique_ptr<ShaderObjects> make(std::span<const uint32_t> fragment,
                                      VkShaderCreateFlagsEXT flags) const {
    return std::make_unique<ShaderObjects>(
        *context_, std::vector<ShaderObjectInfo>{
                       {{kVertex, full_screen_vert}, kFragment, flags | GetParam(), {}, 0, {}},
                       {{kFragment, fragment}, 0, flags | GetParam(), {}, 0, {}}});
  }

  void record(VkCommandBuffer commands, const std::vector<Draw>& draws) const {
    const VkSampleMask mask = ~0u;
    set_draw_state(*context_, commands);
    vkCmdSetDepthTestEnable(commands, VK_TRUE);
    vkCmdSetDepthWriteEnable(commands, VK_TRUE);
    vkCmdSetDepthCompareOp(commands, VK_COMPARE_OP_LESS);
    set<PFN_vkCmdSetRasterizationSamplesEXT>("vkCmdSetRasterizationSamplesEXT", commands,
                                             VK_SAMPLE_COUNT_4_BIT);
    set<PFN_vkCmdSetSampleMaskEXT>("vkCmdSetSampleMaskEXT", commands, VK_SAMPLE_COUNT_4_BIT, &mask);
    unbind_graphics_shaders(*context_, commands);
    for (const Draw& draw : draws) {
      const VkViewport viewport{0, 0, 64, 64, draw.depth, draw.depth};
      vkCmdSetViewportWithCount(commands, 1, &viewport);
      draw.shaders->bind(commands);
      set<PFN_vkCmdSetAlphaToCoverageEnableEXT>("vkCmdSetAlphaToCoverageEnableEXT", commands,
                                                static_cast<VkBool32>(draw.alpha_to_coverage));
      vkCmdDraw(commands, 3, 1, 0, 0);
    }
  }
  Result run(const std::vector<Draw>& draws) const {
    const auto draw_all = [&](const Instrumentation* instrumentation) {
      context_->run([&](VkCommandBuffer commands) {
        if (instrumentation) instrumentation->begin(commands);
        target_->begin(commands);
        record(commands, draws);
        target_->end(commands);
        if (instrumentation) instrumentation->end(commands);
        full_barrier(commands);
      });
      return target_->read();
    };
    Result result{.picture = draw_all(nullptr)};
    const Instrumentation instrumentation(*context_);
    EXPECT_EQ(draw_all(&instrumentation), result.picture);
    result.invocations = Counts(instrumentation, kFragment, alpha_frag).invocations();
    return result;
  }

  std::unique_ptr<ShaderObjects> white_, orange_;

 private:
  template <typename Function, typename... Arguments>
  void set(const char* name, Arguments... arguments) const {
    context_->function<Function>(name)(arguments...);
  }
};

TEST_P(ShaderObjectsWithAlpha, test_after_the_shader_where_a_draw_enables_alpha_to_coverage) {
  const uint64_t triangle = run({{white_.get(), 0.5f, false}}).invocations;
  EXPECT_GE(triangle, 64 * 64u);
  for (const bool enabled : {true, false, true}) {
    const Result result = run({{white_.get(), 0.4f, enabled}, {orange_.get(), 0.9f, false}});
    EXPECT_EQ(result.invocations, triangle);
    const bool shows_orange = std::ranges::any_of(
        result.picture, [](uint32_t texel) { return (texel & 0xffffffu) != 0xffffffu; });
    EXPECT_EQ(shows_orange, enabled);
  }
}

TEST_P(ShaderObjectsWithAlpha, do_not_run_for_hidden_fragments_of_other_draws) {
  const uint64_t triangle = run({{white_.get(), 0.5f, false}}).invocations;
  const Result result = run({{white_.get(), 0.8f, true},
                             {white_.get(), 0.2f, false},
                             {white_.get(), 0.4f, false},
                             {white_.get(), 0.6f, false}});
  EXPECT_EQ(result.invocations, 2 * triangle);
}

INSTANTIATE_TEST_SUITE_P(, ShaderObjectsWithAlpha,
                         testing::Values(VkShaderCreateFlagsEXT{0},
                                         VK_SHADER_CREATE_LINK_STAGE_BIT_EXT),
                         [](const auto& parameter) {
                           return parameter.param == 0 ? "separate" : "linked";
                         });

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
