// Compares counts of commands that the device generates with those worked out by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <span>

#include "branchy.frag.h"
#include "full_screen.vert.h"
#include "orange.frag.h"
#include "patch.vert.h"
#include "support/generated_commands.h"
#include "support/instrumentation.h"
#include "support/render_target.h"
#include "support/shader_objects.h"
#include "support/stages.h"
#include "uneven.comp.h"

namespace tally::test {
namespace {

constexpr VkShaderCreateFlagsEXT kShaderInstrumentBindable =
    VK_SHADER_CREATE_INSTRUMENT_SHADER_BIT_ARM | kShaderIndirectBindable;

// Execution sets hold no pipeline twice, and have no gap: NVIDIA's driver hangs or crashes at such
// sets of compute pipelines.
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

TEST_F(GeneratedAnswers, pipelines_of_an_execution_set_count_by_their_index) {
  const Pipeline first = make_uneven(&kInstrumentBindable);
  const Pipeline second = make_uneven(&kInstrumentBindable);
  const Pipeline unused = make_uneven(&kInstrumentBindable);
  const ExecutionSet set(*context_, first, 3);
  set.write(1, unused);
  set.write(2, second);
  GeneratedCommands generated(
      *context_, {.layout = layout_,
                  .from_set = true,
                  .words = {0, 5, 2, 1, 1, 2, 7, 1, 1, 4, 2, 1, 3, 1, 1, 0, 4, 1, 1, 1},
                  .sequences = 4});
  const Instrumentation instrumentation(*context_);
  context_->run([&](VkCommandBuffer commands) {
    instrumentation.begin(commands);
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, first);
    generated.execute(commands, nullptr, set);
    dispatch(commands, second, 3);
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, first);
    generated.execute(commands, nullptr, set);
    instrumentation.end(commands);
    full_barrier(commands);
  });
  for (const uint32_t result : {0u, 2u}) {
    const Counts of_first(instrumentation, kCompute, uneven_comp, result, 0);
    EXPECT_EQ(of_first.invocations(), 8u * (2 + 1)) << result;
    EXPECT_EQ(of_first.at("round"), 8u * (2 * 5 + 4)) << result;
    const Counts of_second(instrumentation, kCompute, uneven_comp, result, 2);
    EXPECT_EQ(of_second.invocations(), 8u * (4 + 3)) << result;
    EXPECT_EQ(of_second.at("round"), 8u * (4 * 7 + 3)) << result;
  }
  EXPECT_EQ(Counts(instrumentation, kCompute, uneven_comp, 1).at("round"), 8u * 3);
}

// A recording that was made before knows nothing of the pipeline.
TEST_F(GeneratedAnswers, a_pipeline_that_joins_a_set_later_counts_in_later_recordings) {
  const Pipeline first = make_uneven(&kInstrumentBindable);
  const Pipeline replaced = make_uneven(&kInstrumentBindable);
  const ExecutionSet set(*context_, first, 2);
  set.write(1, replaced);
  GeneratedCommands generated(*context_, {.layout = layout_,
                                          .from_set = true,
                                          .words = {0, 5, 2, 1, 1, 1, 7, 1, 1, 4},
                                          .sequences = 2});
  const Instrumentation before(*context_);
  const Instrumentation after(*context_);
  const auto record = [&](const Instrumentation& instrumentation, VkCommandBuffer commands) {
    instrumentation.begin(commands);
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, first);
    generated.execute(commands, nullptr, set);
    instrumentation.end(commands);
    full_barrier(commands);
  };
  std::optional<Pipeline> second;
  context_->run([&](VkCommandBuffer commands) {
    record(before, commands);
    second.emplace(make_uneven(&kInstrumentBindable));
    set.write(1, *second);
  });
  context_->run([&](VkCommandBuffer commands) { record(after, commands); });
  // The other entry may count here: NVIDIA's driver keeps the set as it was when it was recorded.
  EXPECT_EQ(Counts(before, kCompute, uneven_comp, 0, 0).at("round"), 8u * 2 * 5);
  EXPECT_EQ(Counts(after, kCompute, uneven_comp, 0, 0).at("round"), 8u * 2 * 5);
  EXPECT_EQ(Counts(after, kCompute, uneven_comp, 0, 1).at("round"), 8u * 4 * 7);
}

TEST_F(GeneratedAnswers, draws_of_an_execution_set_count_every_stage) {
  const auto make = [&] {
    return make_graphics_pipeline(*context_,
                                  {.stages = {{kVertex, patch_vert}, {kFragment, branchy_frag}},
                                   .layout = layout_,
                                   .next = &kInstrumentBindable});
  };
  const Pipeline first = make();
  const Pipeline second = make();
  const ExecutionSet set(*context_, first, 2);
  set.write(1, second);
  GeneratedCommands generated(*context_,
                              {.stages = kVertex | kFragment,
                               .command = VK_INDIRECT_COMMANDS_TOKEN_TYPE_DRAW_EXT,
                               .layout = layout_,
                               .from_set = true,
                               .words = {0, 0, 3, 1, 0, 0, 1, 0, 6, 1, 0, 0, 1, 0, 3, 4, 0, 0},
                               .sequences = 3});
  const RenderTarget target(*context_);
  const Instrumentation instrumentation(*context_);
  context_->run([&](VkCommandBuffer commands) {
    instrumentation.begin(commands);
    target.begin(commands);
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, first);
    vkCmdDraw(commands, 3, 1, 0, 0);
    generated.execute(commands, nullptr, set);
    target.end(commands);
    instrumentation.end(commands);
    full_barrier(commands);
  });
  EXPECT_EQ(Counts(instrumentation, kVertex, patch_vert, 1, 0).invocations(), 3u);
  EXPECT_EQ(Counts(instrumentation, kVertex, patch_vert, 1, 1).invocations(), 6u + 12);
  const uint64_t one = Counts(instrumentation, kFragment, branchy_frag, 0).invocations();
  EXPECT_GT(one, 0u);
  EXPECT_EQ(Counts(instrumentation, kFragment, branchy_frag, 1, 0).invocations(), one);
  EXPECT_EQ(Counts(instrumentation, kFragment, branchy_frag, 1, 1).invocations(), (2 + 4) * one);
}

TEST_F(GeneratedAnswers, shader_objects_of_an_execution_set_count_by_their_index) {
  const ShaderObjectInfo info = {
      .shader = {kCompute, uneven_comp}, .flags = kShaderInstrumentBindable, .push_bytes = 4};
  const ShaderObjects shaders(*context_, {info, info, info});
  const std::array initial = {shaders[0]};
  const ExecutionSet set(*context_, initial, 3, 4);
  for (const uint32_t index : {1, 2}) set.write(index, shaders[index]);
  GeneratedCommands generated(
      *context_, {.layout = layout_,
                  .from_set = true,
                  .shader_objects = true,
                  .words = {0, 5, 2, 1, 1, 2, 7, 1, 1, 4, 2, 1, 3, 1, 1, 1, 4, 1, 1, 1},
                  .sequences = 4});
  const Instrumentation instrumentation(*context_);
  context_->run([&](VkCommandBuffer commands) {
    instrumentation.begin(commands);
    bind_shader(*context_, commands, kCompute, shaders[0]);
    generated.execute(commands, nullptr, set);
    bind_shader(*context_, commands, kCompute, shaders[1]);
    constexpr uint32_t kRounds = 3;
    vkCmdPushConstants(commands, layout_, VK_SHADER_STAGE_ALL, 0, sizeof kRounds, &kRounds);
    vkCmdDispatch(commands, 6, 1, 1);
    instrumentation.end(commands);
    full_barrier(commands);
  });
  EXPECT_EQ(Counts(instrumentation, kCompute, uneven_comp, 0, 0).at("round"), 8u * 2 * 5);
  EXPECT_EQ(Counts(instrumentation, kCompute, uneven_comp, 0, 1).at("round"), 8u * 1 * 4);
  EXPECT_EQ(Counts(instrumentation, kCompute, uneven_comp, 0, 2).at("round"), 8u * (4 * 7 + 3));
  EXPECT_EQ(Counts(instrumentation, kCompute, uneven_comp, 0, 2).invocations(), 8u * (4 + 3));
  EXPECT_EQ(Counts(instrumentation, kCompute, uneven_comp, 1).at("round"), 8u * 6 * 3)
      << "bound, with counters of its own range";
}

TEST_F(GeneratedAnswers, draws_of_a_set_of_shader_objects_count_every_stage) {
  const auto make = [](VkShaderStageFlagBits stage, std::span<const uint32_t> code) {
    return ShaderObjectInfo{.shader = {stage, code},
                            .next_stage = stage == kVertex ? VkShaderStageFlags{kFragment} : 0,
                            .flags = kShaderInstrumentBindable,
                            .push_bytes = 4};
  };
  const ShaderObjects shaders(*context_,
                              {make(kVertex, patch_vert), make(kFragment, branchy_frag),
                               make(kVertex, patch_vert), make(kFragment, branchy_frag)});
  const std::array initial = {shaders[0], shaders[1]};
  const ExecutionSet set(*context_, initial, 4, 4);
  for (const uint32_t index : {2, 3}) set.write(index, shaders[index]);
  // The indices of a vertex and a fragment shader, the push constant, and the draw.
  GeneratedCommands generated(*context_, {.stages = kVertex | kFragment,
                                          .command = VK_INDIRECT_COMMANDS_TOKEN_TYPE_DRAW_EXT,
                                          .layout = layout_,
                                          .from_set = true,
                                          .shader_objects = true,
                                          .words = {0, 1, 0, 3, 1, 0, 0,  //
                                                    2, 3, 0, 6, 1, 0, 0,  //
                                                    2, 1, 0, 3, 4, 0, 0},
                                          .sequences = 3});
  const RenderTarget target(*context_);
  const Instrumentation instrumentation(*context_);
  context_->run([&](VkCommandBuffer commands) {
    instrumentation.begin(commands);
    target.begin(commands);
    set_draw_state(*context_, commands);
    unbind_graphics_shaders(*context_, commands);
    bind_shader(*context_, commands, kVertex, shaders[0]);
    bind_shader(*context_, commands, kFragment, shaders[1]);
    vkCmdDraw(commands, 3, 1, 0, 0);
    generated.execute(commands, nullptr, set);
    target.end(commands);
    instrumentation.end(commands);
    full_barrier(commands);
  });
  EXPECT_EQ(Counts(instrumentation, kVertex, patch_vert, 0).invocations(), 3u);
  EXPECT_EQ(Counts(instrumentation, kVertex, patch_vert, 1, 0).invocations(), 3u);
  EXPECT_EQ(Counts(instrumentation, kVertex, patch_vert, 1, 2).invocations(), 6u + 12);
  const uint64_t one = Counts(instrumentation, kFragment, branchy_frag, 0).invocations();
  EXPECT_GT(one, 0u);
  EXPECT_EQ(Counts(instrumentation, kFragment, branchy_frag, 1, 1).invocations(), (1 + 4) * one);
  EXPECT_EQ(Counts(instrumentation, kFragment, branchy_frag, 1, 3).invocations(), 2 * one);
}

// lavapipe 25.0 crashes where the push constants of two shaders are more than 256 bytes, all are
// between 0 and 1, and a constant colour fills a tile (PushGuard): with the layer's ranges they are
// more.
TEST_F(GeneratedAnswers, a_constant_colour_is_the_same_with_small_push_constants) {
  constexpr VkExtent2D kTiles = {256, 256};
  const auto draw = [&](Context& context, VkShaderCreateFlagsEXT vertex_flags) {
    const PipelineLayout layout = make_pipeline_layout(context, {}, 4);
    const ShaderObjects shaders(context, {{.shader = {kVertex, full_screen_vert},
                                           .next_stage = kFragment,
                                           .flags = vertex_flags,
                                           .push_bytes = 4},
                                          {.shader = {kFragment, orange_frag},  //
                                           .flags = 0,
                                           .push_bytes = 4}});
    GeneratedCommands generated(context, {.stages = kVertex | kFragment,
                                          .command = VK_INDIRECT_COMMANDS_TOKEN_TYPE_DRAW_EXT,
                                          .layout = layout,
                                          .words = {0, 3, 1, 0, 0}});
    const std::array bound = {shaders[0], shaders[1]};
    VkGeneratedCommandsShaderInfoEXT names = {VK_STRUCTURE_TYPE_GENERATED_COMMANDS_SHADER_INFO_EXT,
                                              nullptr, 2, bound.data()};
    const RenderTarget target(context, {.extent = kTiles});
    context.run([&](VkCommandBuffer commands) {
      target.begin(commands);
      set_draw_state(context, commands, {.extent = kTiles});
      unbind_graphics_shaders(context, commands);
      shaders.bind(commands);
      generated.execute(commands, &names);
      target.end(commands);
    });
    return target.read();
  };
  const std::vector<uint32_t> bare = draw(*make_generated_context(false), 0);
  EXPECT_EQ(draw(*context_, 0), bare);
  EXPECT_EQ(draw(*context_, VK_SHADER_CREATE_INSTRUMENT_SHADER_BIT_ARM), bare);
}

// Recorded as applications do: the state in one command buffer, which another preprocesses.
TEST_F(GeneratedAnswers, commands_that_were_preprocessed_count) {
  const Pipeline pipeline = make_uneven(&kInstrumentBindable);
  const Pipeline second = make_uneven(&kInstrumentBindable);
  const ExecutionSet set(*context_, pipeline, 2);
  set.write(1, second);
  GeneratedCommands bound(*context_,
                          {.layout = layout_, .preprocessed = true, .words = {5, 2, 1, 1}});
  GeneratedCommands from_set(*context_, {.layout = layout_,
                                         .from_set = true,
                                         .preprocessed = true,
                                         .words = {0, 5, 2, 1, 1, 1, 7, 1, 1, 4},
                                         .sequences = 2});
  VkGeneratedCommandsPipelineInfoEXT names = {
      VK_STRUCTURE_TYPE_GENERATED_COMMANDS_PIPELINE_INFO_EXT, nullptr, pipeline};
  const Instrumentation instrumentation(*context_);
  for (int frame = 0; frame < 2; ++frame) {
    context_->run([&](VkCommandBuffer commands) {
      vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
      bound.preprocess(commands, &names, commands);
      from_set.preprocess(commands, nullptr, commands, set);
      full_barrier(commands);
      instrumentation.begin(commands);
      bound.execute(commands, &names);
      vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
      from_set.execute(commands, nullptr, set);
      instrumentation.end(commands);
      full_barrier(commands);
    });
    EXPECT_EQ(Counts(instrumentation, kCompute, uneven_comp, 0).at("round"), 8u * 2 * 5);
    EXPECT_EQ(Counts(instrumentation, kCompute, uneven_comp, 1, 0).at("round"), 8u * 2 * 5);
    EXPECT_EQ(Counts(instrumentation, kCompute, uneven_comp, 1, 1).at("round"), 8u * 4 * 7);
  }
}

// The execution takes a result index and has no blocks.
TEST_F(GeneratedAnswers, an_execution_set_without_instrumented_pipelines_is_named) {
  const Pipeline plain = make_uneven(&kBindable);
  const Pipeline pipeline = make_uneven();
  const ExecutionSet set(*context_, plain, 1);
  GeneratedCommands generated(*context_,
                              {.layout = layout_, .from_set = true, .words = {0, 5, 2, 1, 1}});
  const Instrumentation instrumentation(*context_);
  context_->run([&](VkCommandBuffer commands) {
    instrumentation.begin(commands);
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, plain);
    generated.execute(commands, nullptr, set);
    dispatch(commands, pipeline, 3);
    instrumentation.end(commands);
    full_barrier(commands);
  });
  for (const BlockValues& block : instrumentation.read()) {
    EXPECT_EQ(block.header.resultIndex, 1u);
  }
  EXPECT_EQ(Counts(instrumentation, kCompute, uneven_comp, 1).at("round"), 8u * 3);
  std::vector<std::string> texts;
  for (const Message& message : context_->messages()) texts.push_back(message.text);
  EXPECT_THAT(texts, testing::Contains(testing::HasSubstr("generated commands run uninstrumented: "
                                                          "the pipelines of their execution set")));
}

TEST_F(GeneratedAnswers, entries_without_instrumentation_run_beside_those_that_count) {
  const Pipeline first = make_uneven(&kInstrumentBindable);
  const Pipeline plain = make_uneven(&kBindable);
  const ExecutionSet set(*context_, first, 2);
  set.write(1, plain);
  GeneratedCommands generated(*context_, {.layout = layout_,
                                          .from_set = true,
                                          .words = {0, 5, 2, 1, 1, 1, 7, 4, 1, 1},
                                          .sequences = 2});
  const Instrumentation instrumentation(*context_);
  context_->run([&](VkCommandBuffer commands) {
    instrumentation.begin(commands);
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, first);
    generated.execute(commands, nullptr, set);
    instrumentation.end(commands);
    full_barrier(commands);
  });
  EXPECT_EQ(Counts(instrumentation, kCompute, uneven_comp, 0).at("round"), 8u * 2 * 5);
  for (const BlockValues& block : instrumentation.read()) {
    EXPECT_EQ(block.header.resultSubIndex, 0u);
  }
}

}  // namespace
}  // namespace tally::test
