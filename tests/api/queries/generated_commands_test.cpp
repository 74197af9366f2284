// Emulated queries around commands that the device generates: they count what the shaders do. The
// number of vertices and workgroups that the device reads is not known to the layer.
#include "support/generated_commands.h"

#include <array>

#include "api/queries/scenes.h"
#include "discard.frag.h"
#include "patch.vert.h"
#include "plain.frag.h"
#include "support/instrumentation.h"
#include "support/shader_objects.h"
#include "uneven.comp.h"

namespace tally::test {
namespace {

constexpr VkQueryPipelineStatisticFlags kShaderStatistics =
    VK_QUERY_PIPELINE_STATISTIC_VERTEX_SHADER_INVOCATIONS_BIT |
    VK_QUERY_PIPELINE_STATISTIC_FRAGMENT_SHADER_INVOCATIONS_BIT |
    VK_QUERY_PIPELINE_STATISTIC_COMPUTE_SHADER_INVOCATIONS_BIT;

class QueriesOfGenerated : public QueriesTest {
 protected:
  static constexpr VkShaderStageFlags kStages = kVertex | kFragment;

  void SetUp() override {
    if (!GeneratedDevice::supported()) GTEST_SKIP() << "no generated commands";
    start(true, device_.options());
  }

  Pipeline make_bindable(std::span<const uint32_t> fragment, const void* next = &kBindable) {
    return make_graphics({{kVertex, patch_vert}, {kFragment, fragment}}, {.next = next});
  }
  GeneratedCommands::Info draws(std::vector<uint32_t> words, uint32_t sequences,
                                bool objects = false) {
    return {.stages = kStages,
            .command = VK_INDIRECT_COMMANDS_TOKEN_TYPE_DRAW_EXT,
            .layout = layout(),
            .from_set = true,
            .shader_objects = objects,
            .words = std::move(words),
            .sequences = sequences};
  }
  int32_t status(const Queries& queries) {
    std::array<int32_t, kStatisticBits + 1> values{};
    const size_t numbers = queries.read().size();
    check(vkGetQueryPoolResults(context().device(), queries, 0, 1, sizeof values, values.data(),
                                sizeof values, VK_QUERY_RESULT_WITH_STATUS_BIT_KHR));
    return values.at(numbers);
  }

  struct Measured {
    std::vector<uint64_t> statistics;
    uint64_t samples = 0;
    bool operator==(const Measured&) const = default;
  };
  // The shaders' statistics and the samples, of which all must be complete.
  template <typename Record>
  Measured measure(Record&& record) {
    const Queries statistics(context(), VK_QUERY_TYPE_PIPELINE_STATISTICS, 1, kShaderStatistics);
    const Queries samples(context(), VK_QUERY_TYPE_OCCLUSION);
    const RenderTarget target(context());
    context().run([&](VkCommandBuffer commands) {
      statistics.reset(commands);
      samples.reset(commands);
      target.begin(commands);
      statistics.begin(commands);
      samples.begin(commands, 0, VK_QUERY_CONTROL_PRECISE_BIT);
      record(commands);
      samples.end(commands);
      statistics.end(commands);
      target.end(commands);
    });
    EXPECT_EQ(status(statistics), VK_QUERY_RESULT_STATUS_COMPLETE_KHR);
    EXPECT_EQ(status(samples), VK_QUERY_RESULT_STATUS_COMPLETE_KHR);
    return {statistics.read(), samples.read().at(0)};
  }
  void draw(VkCommandBuffer commands, VkPipeline pipeline, uint32_t vertices, uint32_t instances) {
    vkCmdBindPipeline(commands, kGraphics, pipeline);
    vkCmdDraw(commands, vertices, instances, 0, 0);
  }
  // What the words of a set of two pipelines say: a draw, then three.
  Measured expected(VkPipeline first, VkPipeline second) {
    return measure([&](VkCommandBuffer commands) {
      draw(commands, first, 3, 1);
      draw(commands, first, 3, 1);
      draw(commands, second, 6, 1);
      draw(commands, second, 3, 4);
    });
  }

  GeneratedDevice device_;
};

TEST_F(QueriesOfGenerated, count_draws_of_an_execution_set) {
  const Pipeline first = make_bindable(plain_frag);
  const Pipeline second = make_bindable(discard_frag);
  const ExecutionSet set(context(), first, 2);
  set.write(1, second);
  GeneratedCommands generated(context(),
                              draws({0, 0, 3, 1, 0, 0, 1, 0, 6, 1, 0, 0, 1, 0, 3, 4, 0, 0}, 3));
  const Measured ours = measure([&](VkCommandBuffer commands) {
    draw(commands, first, 3, 1);
    generated.execute(commands, nullptr, set);
  });
  EXPECT_EQ(ours.statistics.at(0), 3u + 3 + 6 + 12);
  EXPECT_GT(ours.samples, 0u);
  EXPECT_EQ(ours, expected(first, second));
}

TEST_F(QueriesOfGenerated, count_draws_of_a_set_of_shader_objects) {
  const auto object = [](const Stage& shader) {
    return ShaderObjectInfo{shader,
                            shader.stage == kVertex ? VkShaderStageFlags{kFragment} : 0,
                            kShaderIndirectBindable,
                            {},
                            64,
                            {}};
  };
  const ShaderObjects shaders(context(),
                              {object({kVertex, patch_vert}), object({kFragment, plain_frag}),
                               object({kVertex, patch_vert}), object({kFragment, discard_frag})});
  const std::array initial = {shaders[0], shaders[1]};
  const ExecutionSet set(context(), initial, 4, 64);
  for (const uint32_t index : {2, 3}) set.write(index, shaders[index]);
  GeneratedCommands generated(
      context(), draws({0, 1, 0, 3, 1, 0, 0, 2, 3, 0, 6, 1, 0, 0, 2, 3, 0, 3, 4, 0, 0}, 3, true));
  const Measured ours = measure([&](VkCommandBuffer commands) {
    set_draw_state(context(), commands);
    unbind_graphics_shaders(context(), commands);
    bind_shader(context(), commands, kVertex, shaders[0]);
    bind_shader(context(), commands, kFragment, shaders[1]);
    vkCmdDraw(commands, 3, 1, 0, 0);
    generated.execute(commands, nullptr, set);
  });
  expect_vertices(ours.statistics.at(0), 3u + 3 + 6 + 12);
  Measured drawn = expected(make_bindable(plain_frag), make_bindable(discard_frag));
  expect_vertices(drawn.statistics.at(0), 3u + 3 + 6 + 12);
  drawn.statistics.at(0) = ours.statistics.at(0);
  EXPECT_EQ(ours, drawn);
}

TEST_F(QueriesOfGenerated, count_dispatches_of_what_is_bound_and_of_a_set) {
  const auto make = [&](const void* next) {
    return make_compute_pipeline(
        context(),
        {.shader = {VK_SHADER_STAGE_COMPUTE_BIT, uneven_comp}, .layout = layout(), .next = next});
  };
  const Pipeline bound = make(nullptr);
  const Pipeline first = make(&kBindable);
  const Pipeline second = make(&kBindable);
  const ExecutionSet set(context(), first, 2);
  set.write(1, second);
  GeneratedCommands one(context(), {.layout = layout(), .words = {5, 2, 1, 1}});
  GeneratedCommands two(context(), {.layout = layout(),
                                    .from_set = true,
                                    .words = {0, 5, 3, 1, 1, 1, 7, 1, 1, 4},
                                    .sequences = 2});
  VkGeneratedCommandsPipelineInfoEXT names = {
      VK_STRUCTURE_TYPE_GENERATED_COMMANDS_PIPELINE_INFO_EXT, nullptr, bound};
  const Queries statistics(context(), VK_QUERY_TYPE_PIPELINE_STATISTICS, 1, kShaderStatistics);
  context().run([&](VkCommandBuffer commands) {
    statistics.reset(commands);
    statistics.begin(commands);
    vkCmdBindPipeline(commands, kCompute, bound);
    one.execute(commands, &names);
    vkCmdBindPipeline(commands, kCompute, first);
    two.execute(commands, nullptr, set);
    statistics.end(commands);
  });
  EXPECT_EQ(statistics.read(), (std::vector<uint64_t>{0, 0, 8u * (2 + 3 + 4)}));
  EXPECT_EQ(status(statistics), VK_QUERY_RESULT_STATUS_COMPLETE_KHR);
}

TEST_F(QueriesOfGenerated, that_need_their_arguments_are_errors) {
  const Pipeline first = make_bindable(plain_frag);
  const ExecutionSet set(context(), first, 1);
  GeneratedCommands generated(context(), draws({0, 0, 3, 1, 0, 0}, 1));
  for (const bool generates : {false, true}) {
    const Queries queries(context(), VK_QUERY_TYPE_PIPELINE_STATISTICS, 1, kAllStatistics);
    const RenderTarget target(context());
    context().run([&](VkCommandBuffer commands) {
      queries.reset(commands);
      target.begin(commands);
      queries.begin(commands);
      draw(commands, first, 3, 1);
      if (generates) generated.execute(commands, nullptr, set);
      queries.end(commands);
      target.end(commands);
    });
    EXPECT_EQ(status(queries),
              generates ? VK_QUERY_RESULT_STATUS_ERROR_KHR : VK_QUERY_RESULT_STATUS_COMPLETE_KHR);
    EXPECT_EQ(queries.read().at(kVertexInvocations), generates ? 6u : 3u);
  }
}

TEST_F(QueriesOfGenerated, count_a_pipeline_that_joins_a_set_later) {
  const Pipeline first = make_bindable(plain_frag);
  const Pipeline replaced = make_bindable(plain_frag);
  const Pipeline second = make_bindable(discard_frag);
  const ExecutionSet set(context(), first, 2);
  set.write(1, replaced);
  GeneratedCommands generated(context(),
                              draws({0, 0, 3, 1, 0, 0, 1, 0, 6, 1, 0, 0, 1, 0, 3, 4, 0, 0}, 3));
  const auto record = [&](VkCommandBuffer commands) {
    draw(commands, first, 3, 1);
    generated.execute(commands, nullptr, set);
  };
  EXPECT_EQ(measure(record), expected(first, replaced));
  set.write(1, second);
  EXPECT_EQ(measure(record), expected(first, second));
}

TEST_F(QueriesOfGenerated, count_beside_instrumentation) {
  VkPhysicalDeviceShaderInstrumentationFeaturesARM feature = {
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INSTRUMENTATION_FEATURES_ARM, nullptr, VK_TRUE};
  GeneratedDevice device(&feature);
  ContextOptions options = device.options();
  options.device_extensions.push_back(VK_ARM_SHADER_INSTRUMENTATION_EXTENSION_NAME);
  start(true, options);
  const Pipeline first = make_bindable(plain_frag, &kInstrumentBindable);
  const Pipeline second = make_bindable(discard_frag, &kInstrumentBindable);
  const ExecutionSet set(context(), first, 2);
  set.write(1, second);
  GeneratedCommands generated(context(),
                              draws({0, 0, 3, 1, 0, 0, 1, 0, 6, 1, 0, 0, 1, 0, 3, 4, 0, 0}, 3));
  const Measured alone = expected(first, second);
  const Instrumentation instrumentation(context());
  const Measured ours = measure([&](VkCommandBuffer commands) {
    instrumentation.begin(commands);
    draw(commands, first, 3, 1);
    generated.execute(commands, nullptr, set);
    instrumentation.end(commands);
  });
  EXPECT_EQ(ours, alone);
  EXPECT_EQ(Counts(instrumentation, kVertex, patch_vert, 1, 0).invocations(), 3u);
  EXPECT_EQ(Counts(instrumentation, kVertex, patch_vert, 1, 1).invocations(), 6u + 12);
}

}  // namespace
}  // namespace tally::test
