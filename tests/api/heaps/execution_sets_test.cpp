// Execution sets of pipelines and shader objects with descriptor heaps, from which the device
// chooses. stand_in/newest/ does not stand for these.
#include <array>
#include <bit>

#include "api/heaps/kit.h"
#include "api/queries/kit.h"
#include "branchy.frag.h"
#include "rectangle.vert.h"
#include "rounds.comp.h"
#include "support/generated_commands.h"
#include "support/shader_objects.h"

namespace tally::test {
namespace {

constexpr uint64_t kSetBits = kCountingHeapBits | kIndirectBindable;
constexpr VkShaderCreateFlagsEXT kSetShaderBits = VK_SHADER_CREATE_INSTRUMENT_SHADER_BIT_ARM |
                                                  VK_SHADER_CREATE_DESCRIPTOR_HEAP_BIT_EXT |
                                                  kShaderIndirectBindable;
constexpr VkShaderStageFlagBits kVertexStage = VK_SHADER_STAGE_VERTEX_BIT;
constexpr VkShaderStageFlagBits kFragmentStage = VK_SHADER_STAGE_FRAGMENT_BIT;
constexpr VkShaderStageFlagBits kComputeStage = VK_SHADER_STAGE_COMPUTE_BIT;

class HeapExecutionSets : public HeapsTest {
 protected:
  void SetUp() override { start_sets(); }
  void start_sets(const LayerSettings::Pairs& settings = {}) {
    if (!Context().has_extension(VK_EXT_DESCRIPTOR_HEAP_EXTENSION_NAME)) {
      GTEST_SKIP() << "no descriptor heaps";
    }
    if (!GeneratedDevice::supported()) GTEST_SKIP() << "no generated commands";
    start_heaps(settings,
                device_.options(
                    {.device_extensions = {VK_ARM_PERFORMANCE_COUNTERS_BY_REGION_EXTENSION_NAME}}));
  }
  // Three pipelines of rounds.comp in a set.
  struct RoundsSet {
    RoundsSet(HeapExecutionSets& test, uint64_t flags)
        : pipelines{test.make_heap_compute(rounds_comp, flags),
                    test.make_heap_compute(rounds_comp, flags),
                    test.make_heap_compute(rounds_comp, flags)},
          set(test.context(), pipelines[0], 3) {
      for (const uint32_t index : {1, 2}) set.write(index, pipelines[index]);
    }
    const std::array<Pipeline, 3> pipelines;
    ExecutionSet set;
  };
  // The index of a pipeline or shader object, the rounds of rounds.comp, and the workgroups.
  static GeneratedCommands::Info dispatches(bool shader_objects, bool preprocessed = false) {
    return {.from_set = true,
            .shader_objects = shader_objects,
            .preprocessed = preprocessed,
            .words = {0, 5, 2, 1, 1, 1, 3, 1, 1, 1, 2, 7, 1, 1, 4, 1, 2, 3, 1, 1},
            .sequences = 4};
  }
  static constexpr uint32_t kRounds = 2 * 5 + 1 * 3 + 4 * 7 + 3 * 2;
  // Executions of each block of one entry of a set in the first result.
  static std::vector<uint64_t> blocks(const Instrumentation& instrumentation, uint32_t entry) {
    const Counts counts(instrumentation, kComputeStage, rounds_comp, 0, entry);
    return {counts.executions().begin(), counts.executions().end()};
  }
  // In the blocks of a loop without a counter of its own: the begin, the head, the condition, the
  // body, the step, the end.
  static std::vector<uint64_t> loops(uint64_t invocations, uint64_t rounds) {
    return {invocations, invocations + rounds, invocations + rounds, rounds, rounds, invocations};
  }
  static void expect_blocks(const Instrumentation& instrumentation) {
    EXPECT_EQ(blocks(instrumentation, 0), loops(8 * 2, 8 * 2 * 5));
    EXPECT_EQ(blocks(instrumentation, 1), loops(8 * (1 + 3), 8 * (1 * 3 + 3 * 2)));
    EXPECT_EQ(blocks(instrumentation, 2), loops(8 * 4, 8 * 4 * 7));
  }
  // Invocations of one entry of a set in the first result.
  static uint64_t count(const Instrumentation& instrumentation, VkShaderStageFlagBits stage,
                        std::span<const uint32_t> code, uint32_t entry) {
    return Counts(instrumentation, stage, code, 0, entry).invocations();
  }
  static void expect_rounds(const Buffer& values, uint32_t rounds) {
    for (uint32_t i = 0; i < 64; ++i) {
      EXPECT_EQ(values.as<uint32_t>()[i], i < 8 ? rounds : 0u) << i;
    }
  }
  // A picture is cleared and drawn with what `draw` records.
  template <typename Draw>
  std::vector<uint32_t> draw_picture(const Instrumentation& instrumentation, const Draw& draw,
                                     const void* next = nullptr) {
    const RenderTarget target(context());
    context().run([&](VkCommandBuffer commands) {
      instrumentation.begin(commands);
      target.begin(commands, {0, 0, 0, 0}, 0, next);
      push(commands, RectanglePush{0, 8, 40, 56, 64, 64});
      draw(commands);
      target.end(commands);
      instrumentation.end(commands);
      full_barrier(commands);
    });
    return target.read();
  }
  // The left side of the rectangle, as a token of push data has it.
  static uint32_t left(float pixels) { return std::bit_cast<uint32_t>(pixels); }
  static bool is_inside(uint32_t texel, float begin) {
    const auto x = static_cast<float>(texel % 64);
    return x >= begin && x < 40 && texel / 64 >= 8 && texel / 64 < 56;
  }

 private:
  VkPhysicalDevicePerformanceCountersByRegionFeaturesARM regions_{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PERFORMANCE_COUNTERS_BY_REGION_FEATURES_ARM, nullptr,
      VK_TRUE};
  GeneratedDevice device_{&regions_};
};

TEST_F(HeapExecutionSets, of_pipelines_count_by_their_index) {
  const Buffer values = make_values();
  const RoundsSet rounds(*this, kSetBits);
  GeneratedCommands generated(context(), dispatches(false));
  const Instrumentation instrumentation(context());
  context().run([&](VkCommandBuffer commands) {
    instrumentation.begin(commands);
    vkCmdBindPipeline(commands, kCompute, rounds.pipelines[0]);
    push(commands, uint64_t{values.address()}, 8);
    generated.execute(commands, nullptr, rounds.set);
    full_barrier(commands);
    vkCmdBindPipeline(commands, kCompute, rounds.pipelines[1]);
    push(commands, uint32_t{10});
    push(commands, uint64_t{values.address()}, 8);
    vkCmdDispatch(commands, 6, 1, 1);
    instrumentation.end(commands);
    full_barrier(commands);
  });
  expect_blocks(instrumentation);
  const Counts bound(instrumentation, kComputeStage, rounds_comp, 1);
  EXPECT_EQ(bound.invocations(), 8u * 6);
  expect_rounds(values, kRounds + 6 * 10);
}

// Recorded as applications do: the state in one command buffer, which another preprocesses.
TEST_F(HeapExecutionSets, that_were_preprocessed_count) {
  const Buffer values = make_values();
  const RoundsSet rounds(*this, kSetBits);
  GeneratedCommands generated(context(), dispatches(false, true));
  const Instrumentation instrumentation(context());
  for (const uint32_t frames : {1, 2}) {
    context().run([&](VkCommandBuffer commands) {
      vkCmdBindPipeline(commands, kCompute, rounds.pipelines[0]);
      push(commands, uint64_t{values.address()}, 8);
      generated.preprocess(commands, nullptr, commands, rounds.set);
      full_barrier(commands);
      instrumentation.begin(commands);
      generated.execute(commands, nullptr, rounds.set);
      instrumentation.end(commands);
      full_barrier(commands);
    });
    expect_blocks(instrumentation);
    expect_rounds(values, frames * kRounds);
  }
}

TEST_F(HeapExecutionSets, of_shader_objects_count_by_their_index) {
  const Buffer values = make_values();
  const ShaderObjectInfo info = {.shader = {kComputeStage, rounds_comp}, .flags = kSetShaderBits};
  const ShaderObjects shaders(context(), {info, info, info});
  const std::array initial = {shaders[0]};
  const ExecutionSet set(context(), initial, 3, 0);
  for (const uint32_t index : {1, 2}) set.write(index, shaders[index]);
  GeneratedCommands generated(context(), dispatches(true));
  const Instrumentation instrumentation(context());
  context().run([&](VkCommandBuffer commands) {
    instrumentation.begin(commands);
    bind_shader(context(), commands, kComputeStage, shaders[0]);
    push(commands, uint64_t{values.address()}, 8);
    generated.execute(commands, nullptr, set);
    instrumentation.end(commands);
    full_barrier(commands);
  });
  expect_blocks(instrumentation);
  expect_rounds(values, kRounds);
}

// The index, the left side of the rectangle, and the draw.
TEST_F(HeapExecutionSets, draw_as_without_instrumentation_and_count) {
  GeneratedCommands generated(context(), {.stages = kVertexStage | kFragmentStage,
                                          .command = VK_INDIRECT_COMMANDS_TOKEN_TYPE_DRAW_EXT,
                                          .from_set = true,
                                          .words = {0, left(24), 4, 1, 0, 0,  //
                                                    1, left(8), 4, 1, 0, 0,   //
                                                    0, left(32), 4, 3, 0, 0},
                                          .sequences = 3});
  const auto draw = [&](const Instrumentation& instrumentation, uint64_t flags) {
    const Pipeline first = make_heap_rectangles(branchy_frag, flags);
    const Pipeline second = make_heap_rectangles(branchy_frag, flags);
    const ExecutionSet set(context(), first, 2);
    set.write(1, second);
    return draw_picture(instrumentation, [&](VkCommandBuffer commands) {
      vkCmdBindPipeline(commands, kGraphics, first);
      generated.execute(commands, nullptr, set);
    });
  };
  const Instrumentation uncounted(context());
  const Instrumentation counted(context());
  const std::vector<uint32_t> bare = draw(uncounted, kHeapBit | kIndirectBindable);
  EXPECT_EQ(draw(counted, kSetBits), bare);
  EXPECT_THAT(uncounted.read(), testing::IsEmpty());
  for (uint32_t i = 0; i < bare.size(); ++i) EXPECT_EQ(bare[i] != 0, is_inside(i, 8)) << i;
  EXPECT_EQ(count(counted, kFragmentStage, branchy_frag, 0), 48u * (16 + 3 * 8));
  EXPECT_EQ(count(counted, kFragmentStage, branchy_frag, 1), 48u * 32);
  EXPECT_EQ(count(counted, kVertexStage, rectangle_vert, 0), 4u * (1 + 3));
  EXPECT_EQ(count(counted, kVertexStage, rectangle_vert, 1), 4u);
}

// Blocks and regions together, in the same variants.
TEST_F(HeapExecutionSets, count_by_region) {
  GeneratedCommands generated(context(),
                              {.stages = kVertexStage | kFragmentStage,
                               .command = VK_INDIRECT_COMMANDS_TOKEN_TYPE_DRAW_EXT,
                               .from_set = true,
                               .words = {0, left(24), 4, 1, 0, 0, 1, left(8), 4, 2, 0, 0},
                               .sequences = 2});
  const Pipeline first = make_heap_rectangles(branchy_frag, kSetBits);
  const Pipeline second = make_heap_rectangles(branchy_frag, kSetBits);
  const ExecutionSet set(context(), first, 2);
  set.write(1, second);
  const Instrumentation instrumentation(context());
  const Capture values(context(), {.area = {64, 64}});
  const std::vector<uint32_t> picture = draw_picture(
      instrumentation,
      [&](VkCommandBuffer commands) {
        vkCmdBindPipeline(commands, kGraphics, first);
        generated.execute(commands, nullptr, set);
      },
      values.begin_info());
  for (uint32_t i = 0; i < picture.size(); ++i) EXPECT_EQ(picture[i] != 0, is_inside(i, 8)) << i;
  expect_pixels(values, kInvocations, context(), {{0, 0}, {64, 64}}, [&](uint32_t x, uint32_t y) {
    return (is_inside(y * 64 + x, 24) ? 1 : 0) + (is_inside(y * 64 + x, 8) ? 2 : 0);
  });
  values.expect_layout();
  EXPECT_EQ(count(instrumentation, kFragmentStage, branchy_frag, 0), 48u * 16);
  EXPECT_EQ(count(instrumentation, kFragmentStage, branchy_frag, 1), 48u * 2 * 32);
}

// The indices of a vertex and a fragment shader, the left side of the rectangle, and the draw.
TEST_F(HeapExecutionSets, of_shader_objects_draw_as_without_instrumentation_and_count) {
  GeneratedCommands generated(context(), {.stages = kVertexStage | kFragmentStage,
                                          .command = VK_INDIRECT_COMMANDS_TOKEN_TYPE_DRAW_EXT,
                                          .from_set = true,
                                          .shader_objects = true,
                                          .words = {0, 1, left(24), 4, 1, 0, 0,  //
                                                    2, 3, left(8),  4, 1, 0, 0,  //
                                                    2, 1, left(32), 4, 3, 0, 0},
                                          .sequences = 3});
  const auto draw = [&](const Instrumentation& instrumentation, VkShaderCreateFlagsEXT flags) {
    const ShaderObjectInfo vertex = {
        .shader = {kVertexStage, rectangle_vert}, .next_stage = kFragmentStage, .flags = flags};
    const ShaderObjectInfo fragment = {.shader = {kFragmentStage, branchy_frag}, .flags = flags};
    const ShaderObjects shaders(context(), {vertex, fragment, vertex, fragment});
    const std::array initial = {shaders[0], shaders[1]};
    const ExecutionSet set(context(), initial, 4, 0);
    for (const uint32_t index : {2, 3}) set.write(index, shaders[index]);
    return draw_picture(instrumentation, [&](VkCommandBuffer commands) {
      set_draw_state(context(), commands, {.topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_STRIP});
      unbind_graphics_shaders(context(), commands);
      bind_shader(context(), commands, kVertexStage, shaders[0]);
      bind_shader(context(), commands, kFragmentStage, shaders[1]);
      generated.execute(commands, nullptr, set);
    });
  };
  const Instrumentation uncounted(context());
  const Instrumentation counted(context());
  const std::vector<uint32_t> bare =
      draw(uncounted, kSetShaderBits & ~VK_SHADER_CREATE_INSTRUMENT_SHADER_BIT_ARM);
  EXPECT_EQ(draw(counted, kSetShaderBits), bare);
  for (uint32_t i = 0; i < bare.size(); ++i) EXPECT_EQ(bare[i] != 0, is_inside(i, 8)) << i;
  EXPECT_EQ(count(counted, kFragmentStage, branchy_frag, 1), 48u * (16 + 3 * 8));
  EXPECT_EQ(count(counted, kFragmentStage, branchy_frag, 3), 48u * 32);
  EXPECT_EQ(count(counted, kVertexStage, rectangle_vert, 0), 4u);
  EXPECT_EQ(count(counted, kVertexStage, rectangle_vert, 2), 4u * (1 + 3));
}

class QueriesOfHeapSets : public HeapExecutionSets {
 protected:
  void SetUp() override { start_sets({{"emulate_queries", "all"}}); }
};

// The set's variants are made when it is recorded. The layer's own dispatches leave push data
// alone.
TEST_F(QueriesOfHeapSets, count_and_leave_push_data_alone) {
  const Buffer values = make_values();
  const RoundsSet rounds(*this, kHeapBit | kIndirectBindable);
  GeneratedCommands generated(context(), dispatches(false));
  const Queries queries(context(), VK_QUERY_TYPE_PIPELINE_STATISTICS, 2,
                        VK_QUERY_PIPELINE_STATISTIC_COMPUTE_SHADER_INVOCATIONS_BIT);
  context().run([&](VkCommandBuffer commands) {
    queries.reset(commands);
    push(commands, uint64_t{values.address()}, 8);
    for (const uint32_t query : {0, 1}) {
      vkCmdBindPipeline(commands, kCompute, rounds.pipelines[0]);
      queries.begin(commands, query);
      generated.execute(commands, nullptr, rounds.set);
      full_barrier(commands);
      queries.end(commands, query);
    }
    vkCmdBindPipeline(commands, kCompute, rounds.pipelines[2]);
    push(commands, uint32_t{10});
    dispatch_groups(commands, 6);
  });
  for (const uint32_t query : {0, 1}) EXPECT_EQ(queries.read(query)[0], 8u * (2 + 1 + 4 + 3));
  expect_rounds(values, 2 * kRounds + 6 * 10);
}

}  // namespace
}  // namespace tally::test
