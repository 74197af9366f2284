// Every kind of command: one index each, and correct counts. Ranges inside render passes, and
// secondary command buffers.
#include "api/kit.h"
#include "full_screen.vert.h"
#include "orange.frag.h"

namespace tally::test {
namespace {

using testing::ElementsAre;

class Commands : public CountersTest {
 protected:
  // Vertex and fragment invocations of each result that contains blocks.
  using Drawn = std::tuple<uint32_t, uint64_t, uint64_t>;
  std::vector<Drawn> drawn(const Instrumentation& instrumentation) {
    std::vector<Drawn> result;
    const size_t executions = instrumentation.metric("executions");
    for (const BlockValues& block : instrumentation.read()) {
      if (block.header.basicBlockIndex != 0) continue;
      const uint64_t count = block.metrics[executions];
      if (block.header.stages == VK_SHADER_STAGE_VERTEX_BIT) {
        result.emplace_back(block.header.resultIndex, count, 0);
      } else {
        EXPECT_EQ(block.header.stages, VkShaderStageFlags{VK_SHADER_STAGE_FRAGMENT_BIT});
        EXPECT_EQ(std::get<0>(result.back()), block.header.resultIndex);
        std::get<2>(result.back()) = count;
      }
    }
    return result;
  }

  RenderTarget& target() {
    if (!target_) target_.emplace(context());
    return *target_;
  }
  Pipeline make_triangle(const void* next = &kInstrument, VkRenderPass pass = VK_NULL_HANDLE,
                         std::vector<VkDynamicState> dynamic = {}) {
    if (!layout_) layout_ = make_pipeline_layout(context());
    GraphicsPipelineInfo info;
    info.stages = {{VK_SHADER_STAGE_VERTEX_BIT, full_screen_vert},
                   {VK_SHADER_STAGE_FRAGMENT_BIT, orange_frag}};
    info.layout = layout_;
    info.next = next;
    info.render_pass = pass;
    info.dynamic = std::move(dynamic);
    return make_graphics_pipeline(context(), info);
  }
  // One render pass with the range around it.
  template <typename Draw>
  void measure_pass(const Instrumentation& instrumentation, VkPipeline pipeline, Draw&& draw) {
    instrumentation.run([&](VkCommandBuffer commands) {
      target().begin(commands);
      vkCmdBindPipeline(commands, kGraphics, pipeline);
      draw(commands);
      target().end(commands);
    });
  }

  static constexpr uint64_t kPixels = 64 * 64;
  // A driver may run a vertex more than once; here at most three times for three vertices.
  static constexpr uint64_t kVertices = 3;

 private:
  std::optional<RenderTarget> target_;
  PipelineLayout layout_;
};

TEST_F(Commands, draws_give_vertex_and_fragment_blocks_in_that_order) {
  const Instrumentation instrumentation(context());
  const Pipeline pipeline = make_triangle();
  measure_pass(instrumentation, pipeline, [](VkCommandBuffer commands) {
    vkCmdDraw(commands, 3, 1, 0, 0);
    vkCmdDraw(commands, 3, 2, 0, 0);
  });
  EXPECT_THAT(drawn(instrumentation),
              ElementsAre(Drawn(0, kVertices, kPixels), Drawn(1, 2 * kVertices, 2 * kPixels)));
}

TEST_F(Commands, indexed_and_indirect_draws_are_one_result_each) {
  const Buffer indices(context(), 64, VK_BUFFER_USAGE_INDEX_BUFFER_BIT);
  for (uint32_t i = 0; i < 3; ++i) indices.as<uint32_t>()[i] = i;
  const Buffer arguments(context(), 256, VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT);
  arguments.as<VkDrawIndirectCommand>()[0] = {3, 1, 0, 0};
  arguments.as<VkDrawIndirectCommand>()[1] = {3, 1, 0, 0};
  const Buffer indexed(context(), 256, VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT);
  indexed.as<VkDrawIndexedIndirectCommand>()[0] = {3, 2, 0, 0, 0};
  const Instrumentation instrumentation(context());
  const Pipeline pipeline = make_triangle();
  const bool many = context().features().multiDrawIndirect;
  measure_pass(instrumentation, pipeline, [&](VkCommandBuffer commands) {
    vkCmdBindIndexBuffer(commands, indices, 0, VK_INDEX_TYPE_UINT32);
    vkCmdDrawIndexed(commands, 3, 1, 0, 0, 0);
    vkCmdDrawIndirect(commands, arguments, 0, many ? 2 : 1, sizeof(VkDrawIndirectCommand));
    vkCmdDrawIndexedIndirect(commands, indexed, 0, 1, sizeof(VkDrawIndexedIndirectCommand));
  });
  const uint64_t draws = many ? 2 : 1;
  EXPECT_THAT(drawn(instrumentation), ElementsAre(Drawn(0, kVertices, kPixels),
                                                  Drawn(1, draws * kVertices, draws * kPixels),
                                                  Drawn(2, 2 * kVertices, 2 * kPixels)));
}

TEST_F(Commands, draws_with_a_count_in_a_buffer_are_one_result) {
  VkPhysicalDeviceVulkan12Features core{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES};
  VkPhysicalDeviceFeatures2 features{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, &core};
  vkGetPhysicalDeviceFeatures2(context().gpu(), &features);
  if (!core.drawIndirectCount) GTEST_SKIP() << "no drawIndirectCount";
  const Buffer arguments(context(), 256, VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT);
  for (int i = 0; i < 4; ++i) arguments.as<VkDrawIndirectCommand>()[i] = {3, 1, 0, 0};
  const Buffer count(context(), 64, VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT);
  count.as<uint32_t>()[0] = 3;
  const Instrumentation instrumentation(context());
  const Pipeline pipeline = make_triangle();
  measure_pass(instrumentation, pipeline, [&](VkCommandBuffer commands) {
    vkCmdDrawIndirectCount(commands, arguments, 0, count, 0, 4, sizeof(VkDrawIndirectCommand));
    vkCmdDraw(commands, 3, 1, 0, 0);
  });
  EXPECT_THAT(drawn(instrumentation),
              ElementsAre(Drawn(0, 3 * kVertices, 3 * kPixels), Drawn(1, kVertices, kPixels)));
}

TEST_F(Commands, a_multi_draw_is_one_result) {
  VkPhysicalDeviceMultiDrawFeaturesEXT feature{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MULTI_DRAW_FEATURES_EXT};
  feature.multiDraw = VK_TRUE;
  if (!context().has_extension(VK_EXT_MULTI_DRAW_EXTENSION_NAME))
    GTEST_SKIP() << "no VK_EXT_multi_draw";
  start({}, {.device_extensions = {VK_EXT_MULTI_DRAW_EXTENSION_NAME}, .device_next = &feature});
  const Instrumentation instrumentation(context());
  const Pipeline pipeline = make_triangle();
  const VkMultiDrawInfoEXT draws[] = {{0, 3}, {0, 3}, {0, 3}};
  measure_pass(instrumentation, pipeline, [&](VkCommandBuffer commands) {
    function<PFN_vkCmdDrawMultiEXT>("vkCmdDrawMultiEXT")(commands, 3, draws, 1, 0, sizeof draws[0]);
  });
  EXPECT_THAT(drawn(instrumentation), ElementsAre(Drawn(0, 3 * kVertices, 3 * kPixels)));
}

// work.comp as a different compiler might have produced it. NVIDIA's driver (580) gives a pipeline
// with a base the code of an earlier pipeline without one if their words are the same, and that
// code ignores the base; the kit creates such pipelines.
std::vector<uint32_t> work_with_a_base() {
  const std::span<const uint32_t> work = work_shader();
  std::vector<uint32_t> words(work.begin(), work.end());
  ++words[2];  // the generator's magic number
  return words;
}

TEST_F(Commands, dispatches_with_a_base_and_from_a_buffer_are_counted) {
  const Buffer arguments(context(), 64, VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT);
  arguments.as<VkDispatchIndirectCommand>()[0] = {5, 1, 1};
  const Instrumentation instrumentation(context());
  const Pipeline pipeline =
      make_compute_pipeline(context(), {{VK_SHADER_STAGE_COMPUTE_BIT, work_with_a_base()},
                                        work().layout,
                                        {},
                                        VK_PIPELINE_CREATE_DISPATCH_BASE_BIT,
                                        &kInstrumentWithBase});
  instrumentation.run([&](VkCommandBuffer commands) {
    dispatch(commands, pipeline, 1);
    vkCmdDispatchBase(commands, 7, 0, 0, 2, 1, 1);
    full_barrier(commands);
    vkCmdDispatchIndirect(commands, arguments, 0);
  });
  EXPECT_THAT(invocations(instrumentation),
              ElementsAre(std::pair(0u, uint64_t{8}), std::pair(1u, uint64_t{16}),
                          std::pair(2u, uint64_t{40})));
  // Compared instead of computed: lavapipe keeps the base for the next indirect dispatch.
  const auto values = work().values.as<uint32_t>();
  const std::vector<uint32_t> measured(values.begin(), values.end());
  work().values.clear();
  const Pipeline plain =
      make_compute_pipeline(context(), {{VK_SHADER_STAGE_COMPUTE_BIT, work_with_a_base()},
                                        work().layout,
                                        {},
                                        VK_PIPELINE_CREATE_DISPATCH_BASE_BIT});
  context().run([&](VkCommandBuffer commands) {
    dispatch(commands, plain, 1);
    vkCmdDispatchBase(commands, 7, 0, 0, 2, 1, 1);
    full_barrier(commands);
    vkCmdDispatchIndirect(commands, arguments, 0);
  });
  EXPECT_EQ(measured, std::vector<uint32_t>(values.begin(), values.end()));
}

TEST_F(Commands, a_range_inside_of_a_render_pass_measures_only_its_draws) {
  const Instrumentation instrumentation(context());
  const Pipeline pipeline = make_triangle();
  context().run([&](VkCommandBuffer commands) {
    target().begin(commands);
    vkCmdBindPipeline(commands, kGraphics, pipeline);
    vkCmdDraw(commands, 3, 1, 0, 0);
    instrumentation.begin(commands);
    vkCmdDraw(commands, 3, 1, 0, 0);
    instrumentation.end(commands);
    vkCmdDraw(commands, 3, 1, 0, 0);
    target().end(commands);
  });
  EXPECT_THAT(drawn(instrumentation), ElementsAre(Drawn(0, kVertices, kPixels)));
}

TEST_F(Commands, graphics_and_compute_in_one_range_each_have_their_pipeline) {
  const Instrumentation instrumentation(context());
  const Pipeline pipeline = make_triangle();
  static_cast<void>(work());
  context().run([&](VkCommandBuffer commands) {
    vkCmdBindPipeline(commands, kGraphics, pipeline);
    dispatch(commands, work().counting, 1);
    instrumentation.begin(commands);
    vkCmdDispatch(commands, 2, 1, 1);
    full_barrier(commands);
    target().begin(commands);
    vkCmdDraw(commands, 3, 1, 0, 0);
    target().end(commands);
    vkCmdDispatch(commands, 3, 1, 1);
    instrumentation.end(commands);
  });
  std::vector<std::tuple<uint32_t, VkShaderStageFlags, uint64_t>> seen;
  const size_t executions = instrumentation.metric("executions");
  for (const BlockValues& block : instrumentation.read()) {
    if (block.header.basicBlockIndex == 0) {
      seen.emplace_back(block.header.resultIndex, block.header.stages, block.metrics[executions]);
    }
  }
  using Row = std::tuple<uint32_t, VkShaderStageFlags, uint64_t>;
  EXPECT_THAT(seen, ElementsAre(Row(0, VK_SHADER_STAGE_COMPUTE_BIT, 16),
                                Row(1, VK_SHADER_STAGE_VERTEX_BIT, kVertices),
                                Row(1, VK_SHADER_STAGE_FRAGMENT_BIT, kPixels),
                                Row(2, VK_SHADER_STAGE_COMPUTE_BIT, 24)));
}

TEST_F(Commands, the_picture_is_the_same_with_and_without) {
  const Pipeline counting = make_triangle(), plain = make_triangle(nullptr);
  const Instrumentation instrumentation(context());
  measure_pass(instrumentation, counting,
               [](VkCommandBuffer commands) { vkCmdDraw(commands, 3, 1, 0, 0); });
  const std::vector<uint32_t> measured = target().read();
  context().run([&](VkCommandBuffer commands) {
    target().begin(commands);
    vkCmdBindPipeline(commands, kGraphics, plain);
    vkCmdDraw(commands, 3, 1, 0, 0);
    target().end(commands);
  });
  EXPECT_EQ(target().read(), measured);
  EXPECT_NE(measured.at(0), 0u);
}

// Binding a variant of the first pipeline once more would set its static state.
TEST_F(Commands, a_range_keeps_state_that_was_set_after_another_pipeline_was_bound) {
  if (context().properties().apiVersion < VK_API_VERSION_1_3) GTEST_SKIP() << "no Vulkan 1.3";
  const Pipeline culls_none = make_triangle();
  const Pipeline culls_as_set =
      make_triangle(&kInstrument, VK_NULL_HANDLE, {VK_DYNAMIC_STATE_CULL_MODE});
  static_cast<void>(work());
  const Instrumentation instrumentation(context());
  for (const bool counts : {false, true}) {
    context().run([&](VkCommandBuffer commands) {
      vkCmdBindPipeline(commands, kGraphics, culls_none);
      vkCmdSetCullMode(commands, VK_CULL_MODE_FRONT_AND_BACK);
      if (counts) instrumentation.begin(commands);
      dispatch(commands, work().counting, 1);
      full_barrier(commands);
      vkCmdBindPipeline(commands, kGraphics, culls_as_set);
      target().begin(commands);
      vkCmdDraw(commands, 3, 1, 0, 0);
      target().end(commands);
      if (counts) instrumentation.end(commands);
    });
    EXPECT_EQ(target().read().at(0), 0u) << counts;
  }
}

TEST_F(Commands, a_secondary_records_into_the_object_that_it_began) {
  const Instrumentation instrumentation(context());
  VkCommandBufferInheritanceInfo inheritance{VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_INFO};
  const VkCommandBuffer secondary =
      context().begin_secondary(inheritance, VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT);
  instrumentation.begin(secondary);
  dispatch(secondary, work().counting, 2);
  instrumentation.end(secondary);
  check(vkEndCommandBuffer(secondary));
  context().run([&](VkCommandBuffer commands) {
    vkCmdExecuteCommands(commands, 1, &secondary);
    full_barrier(commands);
    vkCmdExecuteCommands(commands, 1, &secondary);
  });
  EXPECT_THAT(invocations(instrumentation), ElementsAre(std::pair(0u, uint64_t{32})));
}

TEST_F(Commands, a_secondary_inside_of_a_render_pass_is_measured) {
  const Instrumentation instrumentation(context());
  const Pipeline pipeline = make_triangle(&kInstrument, target().render_pass());
  VkCommandBufferInheritanceInfo inheritance{VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_INFO};
  inheritance.renderPass = target().render_pass();
  inheritance.framebuffer = target().framebuffer();
  const VkCommandBuffer secondary =
      context().begin_secondary(inheritance, VK_COMMAND_BUFFER_USAGE_RENDER_PASS_CONTINUE_BIT);
  instrumentation.begin(secondary);
  target().set_viewport(secondary);
  vkCmdBindPipeline(secondary, kGraphics, pipeline);
  vkCmdDraw(secondary, 3, 1, 0, 0);
  instrumentation.end(secondary);
  check(vkEndCommandBuffer(secondary));
  context().run([&](VkCommandBuffer commands) {
    target().begin_render_pass(commands, {0, 0, 0, 0},
                               VK_SUBPASS_CONTENTS_SECONDARY_COMMAND_BUFFERS);
    vkCmdExecuteCommands(commands, 1, &secondary);
    target().end_render_pass(commands);
  });
  EXPECT_THAT(drawn(instrumentation), ElementsAre(Drawn(0, kVertices, kPixels)));
}

// State bound before the secondaries is no longer bound; the next range starts with none.
TEST_F(Commands, a_range_after_secondaries_measures_what_is_bound_anew) {
  const Instrumentation instrumentation(context());
  VkCommandBufferInheritanceInfo inheritance{VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_INFO};
  const VkCommandBuffer secondary = context().begin_secondary(inheritance);
  dispatch(secondary, work().plain, 1);
  check(vkEndCommandBuffer(secondary));
  context().run([&](VkCommandBuffer commands) {
    dispatch(commands, work().counting, 1);
    vkCmdExecuteCommands(commands, 1, &secondary);
    full_barrier(commands);
    instrumentation.begin(commands);
    dispatch(commands, work().counting, 3);
    instrumentation.end(commands);
  });
  EXPECT_THAT(invocations(instrumentation), ElementsAre(std::pair(0u, uint64_t{24})));
}

// Pipelines may not be bound while transform feedback is active, so the variant cannot be switched
// there.
TEST_F(Commands, a_range_inside_of_transform_feedback_counts_from_its_end) {
  VkPhysicalDeviceTransformFeedbackFeaturesEXT feature{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TRANSFORM_FEEDBACK_FEATURES_EXT};
  feature.transformFeedback = VK_TRUE;
  if (!context().has_extension(VK_EXT_TRANSFORM_FEEDBACK_EXTENSION_NAME))
    GTEST_SKIP() << "no transform feedback";
  start({},
        {.device_extensions = {VK_EXT_TRANSFORM_FEEDBACK_EXTENSION_NAME}, .device_next = &feature});
  const auto begin = function<PFN_vkCmdBeginTransformFeedbackEXT>("vkCmdBeginTransformFeedbackEXT");
  const auto end = function<PFN_vkCmdEndTransformFeedbackEXT>("vkCmdEndTransformFeedbackEXT");
  const Instrumentation first(context()), second(context());
  const Pipeline pipeline = make_triangle();
  context().run([&](VkCommandBuffer commands) {
    target().begin(commands);
    vkCmdBindPipeline(commands, kGraphics, pipeline);
    begin(commands, 0, 0, nullptr, nullptr);
    first.begin(commands);
    vkCmdDraw(commands, 3, 1, 0, 0);
    end(commands, 0, 0, nullptr, nullptr);
    vkCmdDraw(commands, 3, 1, 0, 0);
    begin(commands, 0, 0, nullptr, nullptr);
    first.end(commands);
    vkCmdDraw(commands, 3, 1, 0, 0);
    second.begin(commands);
    vkCmdDraw(commands, 3, 1, 0, 0);
    second.end(commands);
    end(commands, 0, 0, nullptr, nullptr);
    target().end(commands);
  });
  EXPECT_THAT(drawn(first), ElementsAre(Drawn(1, kVertices, kPixels)));
  EXPECT_THAT(drawn(second), ElementsAre(Drawn(0, kVertices, kPixels)));
}

}  // namespace
}  // namespace tally::test
