// Emulated queries around commands that the device generates: they count what the shaders do. The
// number of vertices and workgroups that the device reads is not known to the layer.
#include "support/generated_commands.h"

#include <algorithm>
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
  // The words of a set of two pipelines: a draw, then three.
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
    EXPECT_EQ(std::ranges::any_of(
                  context().messages(),
                  [](const Message& one) { return one.id == "TALLY-generated-commands"; }),
              generates);
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

// Two pipelines share the library of their vertex shader.
class QueriesOfGeneratedLibraries : public QueriesOfGenerated {
 protected:
  void SetUp() override {
    if (!GeneratedDevice::supported()) GTEST_SKIP() << "no generated commands";
    if (!Context().has_extension(VK_EXT_GRAPHICS_PIPELINE_LIBRARY_EXTENSION_NAME)) {
      GTEST_SKIP() << "no pipeline libraries";
    }
    start(true,
          device_.options({.device_extensions = {VK_KHR_PIPELINE_LIBRARY_EXTENSION_NAME,
                                                 VK_EXT_GRAPHICS_PIPELINE_LIBRARY_EXTENSION_NAME,
                                                 VK_ARM_SHADER_INSTRUMENTATION_EXTENSION_NAME}}));
  }
  Pipeline make_library(const Stage& stage, uint64_t flags) {
    constexpr VkGraphicsPipelineLibraryFlagsEXT kBefore =
        VK_GRAPHICS_PIPELINE_LIBRARY_VERTEX_INPUT_INTERFACE_BIT_EXT |
        VK_GRAPHICS_PIPELINE_LIBRARY_PRE_RASTERIZATION_SHADERS_BIT_EXT;
    constexpr VkGraphicsPipelineLibraryFlagsEXT kBehind =
        VK_GRAPHICS_PIPELINE_LIBRARY_FRAGMENT_SHADER_BIT_EXT |
        VK_GRAPHICS_PIPELINE_LIBRARY_FRAGMENT_OUTPUT_INTERFACE_BIT_EXT;
    const VkGraphicsPipelineLibraryCreateInfoEXT parts{
        VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_LIBRARY_CREATE_INFO_EXT, nullptr,
        stage.stage == kVertex ? kBefore : kBehind};
    const VkPipelineCreateFlags2CreateInfoKHR next{
        VK_STRUCTURE_TYPE_PIPELINE_CREATE_FLAGS_2_CREATE_INFO_KHR, &parts,
        flags | VK_PIPELINE_CREATE_LIBRARY_BIT_KHR};
    return make_graphics({stage}, {.next = &next});
  }
  // Linked pipelines of one vertex and two fragment libraries, and their set.
  struct Linked {
    Linked(QueriesOfGeneratedLibraries& test, uint64_t flags, uint64_t library_flags)
        : vertices(test.make_library({kVertex, patch_vert}, library_flags)),
          fragments{test.make_library({kFragment, plain_frag}, library_flags),
                    test.make_library({kFragment, discard_frag}, library_flags)},
          pipelines{link(test, vertices, fragments[0], flags),
                    link(test, vertices, fragments[1], flags)},
          set(test.context(), pipelines[0], 2) {
      set.write(1, pipelines[1]);
    }
    static Pipeline link(QueriesOfGeneratedLibraries& test, VkPipeline before, VkPipeline behind,
                         uint64_t flags) {
      return link_graphics_pipeline(test.context(), test.layout(), std::array{before, behind},
                                    flags);
    }
    const Pipeline vertices;
    const std::array<Pipeline, 2> fragments, pipelines;
    const ExecutionSet set;
  };
  bool has_message(std::string_view text) {
    return std::ranges::any_of(context().messages(), [&](const Message& one) {
      return one.text.find(text) != one.text.npos;
    });
  }
  GeneratedCommands::Info three_draws() {
    return draws({0, 0, 3, 1, 0, 0, 1, 0, 6, 1, 0, 0, 1, 0, 3, 4, 0, 0}, 3);
  }

 private:
  VkPhysicalDeviceShaderInstrumentationFeaturesARM instrumentation_ = {
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INSTRUMENTATION_FEATURES_ARM, nullptr, VK_TRUE};
  VkPhysicalDeviceGraphicsPipelineLibraryFeaturesEXT libraries_ = {
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_GRAPHICS_PIPELINE_LIBRARY_FEATURES_EXT, &instrumentation_,
      VK_TRUE};

 protected:
  GeneratedDevice device_{&libraries_};
};

TEST_F(QueriesOfGeneratedLibraries, count_draws_of_linked_pipelines) {
  const Linked linked(*this, kIndirectBindable, kIndirectBindable);
  GeneratedCommands generated(context(), three_draws());
  const Measured ours = measure([&](VkCommandBuffer commands) {
    draw(commands, linked.pipelines[0], 3, 1);
    generated.execute(commands, nullptr, linked.set);
  });
  EXPECT_EQ(ours.statistics.at(0), 3u + 3 + 6 + 12);
  EXPECT_GT(ours.samples, 0u);
  EXPECT_EQ(ours, expected(linked.pipelines[0], linked.pipelines[1]));
}

// Counts that the pipelines of a set share are at the first of them.
TEST_F(QueriesOfGeneratedLibraries, are_instrumented_by_their_index) {
  constexpr uint64_t kFlags = kIndirectBindable | VK_PIPELINE_CREATE_2_INSTRUMENT_SHADERS_BIT_ARM;
  const Linked linked(*this, kFlags, kFlags);
  GeneratedCommands generated(context(), three_draws());
  const RenderTarget target(context());
  const Instrumentation instrumentation(context());
  context().run([&](VkCommandBuffer commands) {
    instrumentation.begin(commands);
    target.begin(commands);
    draw(commands, linked.pipelines[0], 3, 1);
    draw(commands, linked.pipelines[1], 3, 1);
    draw(commands, linked.pipelines[0], 3, 1);
    generated.execute(commands, nullptr, linked.set);
    target.end(commands);
    instrumentation.end(commands);
    full_barrier(commands);
  });
  const auto plain = [&](uint32_t result) {
    return Counts(instrumentation, kFragment, plain_frag, result, 0).invocations();
  };
  const uint64_t one = plain(0);
  EXPECT_GT(one, 0u);
  EXPECT_EQ(plain(3), one);
  const uint64_t other = Counts(instrumentation, kFragment, discard_frag, 1).invocations();
  EXPECT_EQ(Counts(instrumentation, kFragment, discard_frag, 3, 1).invocations(), (2 + 4) * other);
  EXPECT_EQ(Counts(instrumentation, kVertex, patch_vert, 3, 0).invocations(), 3u + 6 + 12);
  EXPECT_FALSE(has_message("uninstrumented"));
}

TEST_F(QueriesOfGeneratedLibraries, of_libraries_without_the_flag_are_named) {
  const Linked linked(*this, kIndirectBindable, 0);
  GeneratedCommands generated(context(), three_draws());
  const Queries statistics(context(), VK_QUERY_TYPE_PIPELINE_STATISTICS, 1, kShaderStatistics);
  const RenderTarget target(context());
  context().run([&](VkCommandBuffer commands) {
    statistics.reset(commands);
    target.begin(commands);
    statistics.begin(commands);
    draw(commands, linked.pipelines[0], 3, 1);
    generated.execute(commands, nullptr, linked.set);
    statistics.end(commands);
    target.end(commands);
  });
  EXPECT_EQ(statistics.read().at(0), 3u);
  EXPECT_EQ(status(statistics), VK_QUERY_RESULT_STATUS_ERROR_KHR);
  EXPECT_TRUE(has_message("uninstrumented in execution sets: one of its libraries"));
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
