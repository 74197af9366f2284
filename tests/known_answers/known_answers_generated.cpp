// Compares counts of commands that the device generates with those worked out by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "branchy.frag.h"
#include "patch.vert.h"
#include "support/generated_commands.h"
#include "support/instrumentation.h"
#include "support/render_target.h"
#include "support/shader_objects.h"
#include "uneven.comp.h"

namespace tally::test {
namespace {

constexpr VkShaderStageFlagBits kCompute = VK_SHADER_STAGE_COMPUTE_BIT;
constexpr VkShaderStageFlagBits kVertex = VK_SHADER_STAGE_VERTEX_BIT;
constexpr VkShaderStageFlagBits kFragment = VK_SHADER_STAGE_FRAGMENT_BIT;

// The pipeline may be part of an execution set.
constexpr VkPipelineCreateFlags2CreateInfoKHR kInstrumentBindable = {
    VK_STRUCTURE_TYPE_PIPELINE_CREATE_FLAGS_2_CREATE_INFO_KHR, nullptr,
    VK_PIPELINE_CREATE_2_INSTRUMENT_SHADERS_BIT_ARM | 0x4000000000};

class GeneratedAnswers : public testing::Test {
 protected:
  void SetUp() override {
    context_ = make_generated_context(true);
    if (!context_) GTEST_SKIP() << "no generated commands";
    layout_ = make_pipeline_layout(*context_, {}, 4);
  }
  Pipeline make_uneven(const void* next = &kInstrument) {
    return make_compute_pipeline(
        *context_, {.shader = {kCompute, uneven_comp}, .layout = layout_, .next = next});
  }
  // uneven.comp iterates as often as its push constant says.
  void dispatch(VkCommandBuffer commands, VkPipeline pipeline, uint32_t rounds) const {
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
    vkCmdPushConstants(commands, layout_, VK_SHADER_STAGE_ALL, 0, sizeof rounds, &rounds);
    vkCmdDispatch(commands, 1, 1, 1);
  }

  std::unique_ptr<Context> context_;
  PipelineLayout layout_;
};

TEST_F(GeneratedAnswers, dispatches_count_with_their_own_push_constants) {
  const Pipeline pipeline = make_uneven();
  const ShaderObjects object(*context_, {{.shader = {kCompute, uneven_comp}, .push_bytes = 4}});
  GeneratedCommands generated(
      *context_,
      {.layout = layout_, .words = {5, 2, 1, 1, 0, 1, 3, 1, 7, 1, 1, 4}, .sequences = 3});
  const VkShaderEXT shader = object[0];
  VkGeneratedCommandsPipelineInfoEXT by_pipeline = {
      VK_STRUCTURE_TYPE_GENERATED_COMMANDS_PIPELINE_INFO_EXT, nullptr, pipeline};
  VkGeneratedCommandsShaderInfoEXT by_object = {
      VK_STRUCTURE_TYPE_GENERATED_COMMANDS_SHADER_INFO_EXT, nullptr, 1, &shader};
  const Instrumentation instrumentation(*context_);
  context_->run([&](VkCommandBuffer commands) {
    instrumentation.begin(commands);
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
    generated.execute(commands, &by_pipeline);
    object.bind(commands);
    generated.execute(commands, &by_object);
    dispatch(commands, pipeline, 3);
    instrumentation.end(commands);
    full_barrier(commands);
  });
  for (const uint32_t result : {0u, 1u}) {
    const Counts counts(instrumentation, kCompute, uneven_comp, result);
    EXPECT_EQ(counts.invocations(), 8u * (2 + 3 + 4)) << result;
    EXPECT_EQ(counts.at("round"), 8u * (2 * 5 + 3 * 0 + 4 * 7)) << result;
  }
  EXPECT_EQ(Counts(instrumentation, kCompute, uneven_comp, 2).at("round"), 8u * 3);
}

TEST_F(GeneratedAnswers, draws_count_every_stage) {
  const Pipeline pipeline = make_graphics_pipeline(
      *context_, {.stages = {{kVertex, patch_vert}, {kFragment, branchy_frag}},
                  .layout = layout_,
                  .next = &kInstrument});
  GeneratedCommands generated(*context_, {.stages = kVertex | kFragment,
                                          .command = VK_INDIRECT_COMMANDS_TOKEN_TYPE_DRAW_EXT,
                                          .layout = layout_,
                                          .words = {0, 3, 1, 0, 0, 0, 6, 1, 0, 0, 0, 3, 4, 0, 0},
                                          .sequences = 3});
  VkGeneratedCommandsPipelineInfoEXT names = {
      VK_STRUCTURE_TYPE_GENERATED_COMMANDS_PIPELINE_INFO_EXT, nullptr, pipeline};
  const RenderTarget target(*context_);
  const Instrumentation instrumentation(*context_);
  context_->run([&](VkCommandBuffer commands) {
    instrumentation.begin(commands);
    target.begin(commands);
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, pipeline);
    vkCmdDraw(commands, 3, 1, 0, 0);
    generated.execute(commands, &names);
    target.end(commands);
    instrumentation.end(commands);
    full_barrier(commands);
  });
  EXPECT_EQ(Counts(instrumentation, kVertex, patch_vert, 1).invocations(), 3u + 6 + 12);
  const uint64_t one = Counts(instrumentation, kFragment, branchy_frag, 0).invocations();
  EXPECT_GT(one, 0u);
  EXPECT_EQ(Counts(instrumentation, kFragment, branchy_frag, 1).invocations(), (1 + 2 + 4) * one);
}

// The execution takes a result index and has no blocks.
TEST_F(GeneratedAnswers, an_execution_set_runs_uncounted_and_is_named) {
  const Pipeline pipeline = make_uneven(&kInstrumentBindable);
  const VkIndirectExecutionSetPipelineInfoEXT first = {
      VK_STRUCTURE_TYPE_INDIRECT_EXECUTION_SET_PIPELINE_INFO_EXT, nullptr, pipeline, 1};
  VkIndirectExecutionSetCreateInfoEXT info = {
      VK_STRUCTURE_TYPE_INDIRECT_EXECUTION_SET_CREATE_INFO_EXT};
  info.type = VK_INDIRECT_EXECUTION_SET_INFO_TYPE_PIPELINES_EXT;
  info.info.pPipelineInfo = &first;
  VkIndirectExecutionSetEXT set = VK_NULL_HANDLE;
  check(context_->function<PFN_vkCreateIndirectExecutionSetEXT>("vkCreateIndirectExecutionSetEXT")(
      context_->device(), &info, nullptr, &set));
  GeneratedCommands generated(*context_, {.layout = layout_,
                                          .from_set = true,
                                          .words = {0, 5, 2, 1, 1, 0, 7, 1, 1, 4},
                                          .sequences = 2});
  const Instrumentation instrumentation(*context_);
  context_->run([&](VkCommandBuffer commands) {
    instrumentation.begin(commands);
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
    generated.execute(commands, nullptr, set);
    dispatch(commands, pipeline, 3);
    instrumentation.end(commands);
    full_barrier(commands);
  });
  context_->function<PFN_vkDestroyIndirectExecutionSetEXT>("vkDestroyIndirectExecutionSetEXT")(
      context_->device(), set, nullptr);
  for (const BlockValues& block : instrumentation.read()) {
    EXPECT_EQ(block.header.resultIndex, 1u);
  }
  EXPECT_EQ(Counts(instrumentation, kCompute, uneven_comp, 1).at("round"), 8u * 3);
  std::vector<std::string> texts;
  for (const Message& message : context_->messages()) texts.push_back(message.text);
  EXPECT_THAT(texts, testing::Contains(testing::HasSubstr(
                         "generated commands run uninstrumented: they use an execution set")));
}

}  // namespace
}  // namespace tally::test
