// Counters by region of draws that the device generates.
#include "support/generated_commands.h"

#include <array>
#include <bit>

#include "api/regions/kit.h"
#include "branchy.frag.h"
#include "discard.frag.h"
#include "rectangle.vert.h"
#include "support/shader_objects.h"

namespace tally::test {
namespace {

class RegionGenerated : public RegionsTest {
 protected:
  static constexpr VkShaderStageFlags kStages = kVertex | kFragment;
  static constexpr RectanglePush kPush = {0, 0, 100, 64, 128, 64};

  void SetUp() override {
    if (!GeneratedDevice::supported()) GTEST_SKIP() << "no generated commands";
    start({}, true, device_.options());
  }

  Pipeline make_bindable(std::span<const uint32_t> fragment, const void* next) {
    return make_rectangles(fragment, {.next = next});
  }
  static ShaderObjectInfo object(const Stage& shader) {
    return {shader,
            shader.stage == kVertex ? VkShaderStageFlags{kFragment} : 0,
            kShaderIndirectBindable,
            {},
            sizeof(RectanglePush),
            {}};
  }
  // Draws of rectangles from `left` to x = 100. Each begins with the indices in the set, if any.
  struct Rectangle {
    std::vector<uint32_t> indices;
    float left;
  };
  GeneratedCommands::Info describe(const std::vector<Rectangle>& rectangles, bool objects = false) {
    GeneratedCommands::Info info = {.stages = kStages,
                                    .command = VK_INDIRECT_COMMANDS_TOKEN_TYPE_DRAW_EXT,
                                    .layout = layout(),
                                    .from_set = !rectangles.front().indices.empty(),
                                    .shader_objects = objects};
    for (const Rectangle& one : rectangles) {
      info.words.insert(info.words.end(), one.indices.begin(), one.indices.end());
      for (const uint32_t word : {std::bit_cast<uint32_t>(one.left), 4u, 1u, 0u, 0u}) {
        info.words.push_back(word);
      }
    }
    info.sequences = static_cast<uint32_t>(rectangles.size());
    return info;
  }
  void push(VkCommandBuffer commands) {
    vkCmdPushConstants(commands, layout(), VK_SHADER_STAGE_ALL, 0, sizeof kPush, &kPush);
  }
  void expect_invocations(const Capture& values, const std::vector<uint32_t>& lefts) {
    expect_pixels(values, kInvocations, context(), {{0, 0}, kExtent}, [&](uint32_t x, uint32_t) {
      return x >= 100 ? 0 : std::ranges::count_if(lefts, [&](uint32_t left) { return x >= left; });
    });
    values.expect_layout();
  }

  GeneratedDevice device_;
};

TEST_F(RegionGenerated, draws_with_what_is_bound_count_their_own_pixels) {
  const Pipeline pipeline = make_bindable(branchy_frag, nullptr);
  GeneratedCommands generated(context(), describe({{{}, 20}, {{}, 70}}));
  VkGeneratedCommandsPipelineInfoEXT names = {
      VK_STRUCTURE_TYPE_GENERATED_COMMANDS_PIPELINE_INFO_EXT, nullptr, pipeline};
  const RenderTarget target(context(), {.extent = kExtent});
  const Capture values(context(), {kExtent});
  capture(target, values, [&](VkCommandBuffer commands) {
    draw(commands, pipeline, kPush);
    generated.execute(commands, &names);
  });
  expect_invocations(values, {0, 20, 70});
}

// The pipelines lack the flag: their variants are made when the set is first recorded.
TEST_F(RegionGenerated, draws_of_an_execution_set_count_their_own_pixels) {
  const Pipeline first = make_bindable(branchy_frag, &kBindable);
  const Pipeline second = make_bindable(discard_frag, &kBindable);
  const ExecutionSet set(context(), first, 2);
  set.write(1, second);
  GeneratedCommands generated(context(), describe({{{0}, 20}, {{1}, 70}, {{1}, 90}}));
  const RenderTarget target(context(), {.extent = kExtent});
  const Capture values(context(), {kExtent, {kInvocations, kDiscarded}});
  capture(target, values, [&](VkCommandBuffer commands) {
    draw(commands, first, kPush);
    generated.execute(commands, nullptr, set);
  });
  expect_invocations(values, {0, 20, 70, 90});
  expect_pixels(values, kDiscarded, context(), {{0, 0}, kExtent}, [](uint32_t x, uint32_t y) {
    return (x + y) % 2 == 0 && x < 100 ? (x >= 70) + (x >= 90) : 0;
  });
}

// A set has no variants that count invocations alone.
TEST_F(RegionGenerated, draws_of_an_execution_set_count_invocations_alone) {
  const Pipeline first = make_bindable(branchy_frag, &kBindable);
  const ExecutionSet set(context(), first, 1);
  GeneratedCommands generated(context(), describe({{{0}, 20}, {{0}, 70}}));
  const RenderTarget target(context(), {.extent = kExtent});
  const Capture values(context(), {kExtent});
  capture(target, values, [&](VkCommandBuffer commands) {
    draw(commands, first, kPush);
    generated.execute(commands, nullptr, set);
  });
  expect_invocations(values, {0, 20, 70});
}

TEST_F(RegionGenerated, a_pipeline_that_joins_a_set_later_counts) {
  const Pipeline first = make_bindable(branchy_frag, &kBindable);
  const Pipeline replaced = make_bindable(branchy_frag, &kBindable);
  const Pipeline second = make_bindable(discard_frag, &kBindable);
  const ExecutionSet set(context(), first, 2);
  set.write(1, replaced);
  GeneratedCommands generated(context(), describe({{{0}, 20}, {{1}, 70}}));
  const RenderTarget target(context(), {.extent = kExtent});
  const auto discarded = [&] {
    const Capture values(context(), {kExtent, {kInvocations, kDiscarded}});
    capture(target, values, [&](VkCommandBuffer commands) {
      draw(commands, first, kPush);
      generated.execute(commands, nullptr, set);
    });
    expect_invocations(values, {0, 20, 70});
    return values.sum(kDiscarded);
  };
  EXPECT_EQ(discarded(), 0u);
  set.write(1, second);
  EXPECT_EQ(discarded(), 30u * 64 / 2);
}

TEST_F(RegionGenerated, draws_of_a_set_of_shader_objects_count_their_own_pixels) {
  const ShaderObjects shaders(
      context(), {object({kVertex, rectangle_vert}), object({kFragment, branchy_frag}),
                  object({kVertex, rectangle_vert}), object({kFragment, discard_frag})});
  const std::array initial = {shaders[0], shaders[1]};
  const ExecutionSet set(context(), initial, 4, sizeof(RectanglePush));
  for (const uint32_t index : {2, 3}) set.write(index, shaders[index]);
  GeneratedCommands generated(context(), describe({{{0, 1}, 20}, {{2, 3}, 70}}, true));
  const RenderTarget target(context(), {.extent = kExtent});
  const Capture values(context(), {kExtent, {kInvocations, kDiscarded}});
  capture(target, values, [&](VkCommandBuffer commands) {
    set_draw_state(context(), commands,
                   {.extent = kExtent, .topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_STRIP});
    unbind_graphics_shaders(context(), commands);
    bind_shader(context(), commands, kVertex, shaders[0]);
    bind_shader(context(), commands, kFragment, shaders[1]);
    push(commands);
    vkCmdDraw(commands, 4, 1, 0, 0);
    generated.execute(commands, nullptr, set);
  });
  expect_invocations(values, {0, 20, 70});
  EXPECT_EQ(values.sum(kDiscarded), 30u * 64 / 2);
}

TEST_F(RegionGenerated, blocks_of_an_execution_set_are_counted_beside_regions) {
  const Pipeline first = make_bindable(branchy_frag, &kInstrumentBindable);
  const Pipeline second = make_bindable(discard_frag, &kInstrumentBindable);
  const ExecutionSet set(context(), first, 2);
  set.write(1, second);
  GeneratedCommands generated(context(), describe({{{0}, 20}, {{1}, 70}, {{1}, 90}}));
  const RenderTarget target(context(), {.extent = kExtent});
  const Capture values(context(), {kExtent, {kInvocations, kDiscarded}});
  const Instrumentation instrumentation(context());
  context().run([&](VkCommandBuffer commands) {
    instrumentation.begin(commands);
    target.begin(commands, {0, 0, 0, 0}, 0, values.begin_info());
    draw(commands, first, kPush);
    generated.execute(commands, nullptr, set);
    target.end(commands);
    instrumentation.end(commands);
    attachment_barrier(commands);
    full_barrier(commands);
  });
  expect_invocations(values, {0, 20, 70, 90});
  EXPECT_EQ(values.sum(kDiscarded), (30u + 10) * 64 / 2);
  EXPECT_EQ(Counts(instrumentation, kFragment, branchy_frag, 1, 0).invocations(), 80u * 64);
  EXPECT_EQ(Counts(instrumentation, kFragment, discard_frag, 1, 1).invocations(), (30u + 10) * 64);
}

}  // namespace
}  // namespace tally::test
