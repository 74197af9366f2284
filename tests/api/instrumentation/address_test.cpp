// How shaders find their records, and that the application's push constants and descriptor sets are
// not affected.
#include "api/kit.h"
#include "full_screen.vert.h"
#include "orange.frag.h"
#include "shared_ranges.frag.h"
#include "shared_ranges.vert.h"
#include "silent.comp.h"
#include "wide.comp.h"

namespace tally::test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Pair = std::pair<uint32_t, uint64_t>;

class Address : public CountersTest {
 protected:
  uint32_t push_size() { return context().properties().limits.maxPushConstantsSize; }
  uint32_t max_sets() { return context().properties().limits.maxBoundDescriptorSets; }

  // A layout with a single range of the device's maximum size.
  PipelineLayout full_layout(uint32_t extra_sets = 0) {
    if (!empty_.get()) empty_ = make_set_layout(context());
    std::vector<VkDescriptorSetLayout> sets(1 + extra_sets, empty_.get());
    sets[0] = work().set.layout();
    return make_pipeline_layout(context(), sets, push_size());
  }
  Pipeline make_wide(VkPipelineLayout layout, const void* next = &kInstrument) {
    return make_compute_pipeline(context(),
                                 {{VK_SHADER_STAGE_COMPUTE_BIT, wide_comp}, layout, {}, 0, next});
  }
  // Fills all push constants, so that wide.comp adds `first` and `last`.
  void push_all(VkCommandBuffer commands, VkPipelineLayout layout, uint32_t first, uint32_t last) {
    std::vector<uint32_t> words(push_size() / 4, 0xdeadbeef);
    words[0] = first;
    words[31] = last;
    vkCmdPushConstants(commands, layout, VK_SHADER_STAGE_ALL, 0, push_size(), words.data());
  }
  // A dispatch that reads no push constants, with a layout that has none.
  void dispatch_without_constants(VkCommandBuffer commands, VkPipelineLayout layout) {
    if (!silent_.get()) {
      silent_ = make_compute_pipeline(
          context(), {{VK_SHADER_STAGE_COMPUTE_BIT, silent_comp}, layout, {}, 0, &kInstrument});
    }
    vkCmdBindPipeline(commands, kCompute, silent_);
    vkCmdDispatch(commands, 1, 1, 1);
  }
  bool told(const std::string& text) {
    const auto messages = context().messages();
    return std::any_of(messages.begin(), messages.end(), [&](const Message& message) {
      return message.text.find(text) != std::string::npos;
    });
  }

 private:
  SetLayout empty_;
  Pipeline silent_;
};

TEST_F(Address, both_ways_count_the_same) {
  for (const char* way : {"push_constant", "descriptor"}) {
    start({{"record_address", way}});
    const Instrumentation instrumentation(context());
    instrumentation.run([&](VkCommandBuffer commands) {
      for (uint32_t groups : {1u, 3u, 100u}) dispatch(commands, work().counting, groups);
    });
    EXPECT_THAT(invocations(instrumentation), ElementsAre(Pair(0, 8), Pair(1, 24), Pair(2, 800)))
        << way;
    EXPECT_EQ(work().values.as<uint32_t>()[0], 3u) << way;
  }
}

TEST_F(Address, graphics_find_their_records_through_the_descriptor_set) {
  start({{"record_address", "descriptor"}});
  const RenderTarget target(context());
  const PipelineLayout layout = make_pipeline_layout(context());
  const Pipeline pipeline = make_orange(layout);
  const Instrumentation instrumentation(context());
  instrumentation.run(
      [&](VkCommandBuffer commands) { draw_orange(commands, target, pipeline, 3); });
  EXPECT_EQ(Counts(instrumentation, VK_SHADER_STAGE_FRAGMENT_BIT, orange_frag, 2).invocations(),
            64u * 64);
}

TEST_F(Address, many_records_through_the_descriptor_set_each_keep_their_own) {
  start({{"record_address", "descriptor"}});
  const Instrumentation instrumentation(context());
  constexpr uint32_t kCommands = 1500;  // more record pointers than a page holds
  const VkCommandBuffer commands = context().begin_commands(0);
  instrumentation.begin(commands);
  for (uint32_t i = 0; i < kCommands; ++i) dispatch(commands, work().counting, 1 + i % 5);
  instrumentation.end(commands);
  check(vkEndCommandBuffer(commands));
  context().submit_and_wait(commands);
  context().submit_and_wait(commands);
  const auto counted = invocations(instrumentation);
  ASSERT_EQ(counted.size(), kCommands);
  for (uint32_t i = 0; i < kCommands; ++i) ASSERT_EQ(counted[i], Pair(i, 2 * 8 * (1 + i % 5)));
}

TEST_F(Address, a_layout_full_of_push_constants_uses_the_descriptor_set) {
  const PipelineLayout layout = full_layout();
  const Pipeline wide = make_wide(layout);
  const Instrumentation instrumentation(context());
  instrumentation.run([&](VkCommandBuffer commands) {
    vkCmdBindPipeline(commands, kCompute, wide);
    work().set.bind(commands, layout);
    push_all(commands, layout, 30, 12);
    vkCmdDispatch(commands, 2, 1, 1);
  });
  EXPECT_THAT(invocations(instrumentation), ElementsAre(Pair(0, 16)));
  EXPECT_EQ(work().values.as<uint32_t>()[15], 42u);
}

TEST_F(Address, a_layout_with_room_for_neither_runs_uninstrumented_and_is_reported) {
  const PipelineLayout layout = full_layout(max_sets() - 1);
  const Pipeline wide = make_wide(layout);
  const Instrumentation instrumentation(context());
  instrumentation.run([&](VkCommandBuffer commands) {
    vkCmdBindPipeline(commands, kCompute, wide);
    work().set.bind(commands, layout);
    push_all(commands, layout, 30, 12);
    vkCmdDispatch(commands, 2, 1, 1);
    full_barrier(commands);
    dispatch(commands, work().counting, 1);
  });
  EXPECT_THAT(invocations(instrumentation), ElementsAre(Pair(1, 8)));
  EXPECT_EQ(work().values.as<uint32_t>()[7], 42u + 3);
  EXPECT_TRUE(told("its pipeline layout leaves no room"));
}

TEST_F(Address, with_push_constants_alone_a_full_layout_runs_uninstrumented) {
  start({{"record_address", "push_constant"}});
  const PipelineLayout layout = full_layout();
  const Pipeline wide = make_wide(layout);
  const Instrumentation instrumentation(context());
  instrumentation.run([&](VkCommandBuffer commands) {
    vkCmdBindPipeline(commands, kCompute, wide);
    work().set.bind(commands, layout);
    push_all(commands, layout, 1, 2);
    vkCmdDispatch(commands, 1, 1, 1);
  });
  EXPECT_THAT(instrumentation.read(), IsEmpty());
  EXPECT_EQ(work().values.as<uint32_t>()[0], 3u);
}

// Binding a pipeline does not disturb push constants, so these values persist while commands with
// another layout are measured.
TEST_F(Address, constants_in_the_bytes_of_the_address_survive_the_commands_of_others) {
  const PipelineLayout layout = full_layout();
  const PipelineLayout none = make_pipeline_layout(context());
  const Pipeline wide = make_wide(layout), wide_plain = make_wide(layout, nullptr);
  const Instrumentation instrumentation(context());
  context().run([&](VkCommandBuffer commands) {
    vkCmdBindPipeline(commands, kCompute, wide);
    push_all(commands, layout, 10, 100);
    instrumentation.begin(commands);
    dispatch_without_constants(commands, none);
    vkCmdBindPipeline(commands, kCompute, wide);
    work().set.bind(commands, layout);
    vkCmdDispatch(commands, 1, 1, 1);
    full_barrier(commands);
    dispatch_without_constants(commands, none);
    instrumentation.end(commands);
    vkCmdBindPipeline(commands, kCompute, wide_plain);
    work().set.bind(commands, layout);
    vkCmdDispatch(commands, 1, 1, 1);
  });
  EXPECT_THAT(invocations(instrumentation), ElementsAre(Pair(0, 8), Pair(1, 8), Pair(2, 8)));
  EXPECT_EQ(work().values.as<uint32_t>()[0], 2u * 110);
}

// The vertex and fragment stages have disjoint ranges; ours is beyond both.
TEST_F(Address, ranges_of_single_stages_keep_their_values) {
  const VkPushConstantRange ranges[] = {{VK_SHADER_STAGE_VERTEX_BIT, 0, 8},
                                        {VK_SHADER_STAGE_FRAGMENT_BIT, 16, 16}};
  VkPipelineLayoutCreateInfo info{VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO};
  info.pushConstantRangeCount = 2;
  info.pPushConstantRanges = ranges;
  VkPipelineLayout handle = VK_NULL_HANDLE;
  check(vkCreatePipelineLayout(context().device(), &info, nullptr, &handle));
  const PipelineLayout layout(context().device(), handle);
  const Pipeline pipeline = make_graphics_pipeline(
      context(), {.stages = {{VK_SHADER_STAGE_VERTEX_BIT, shared_ranges_vert},
                             {VK_SHADER_STAGE_FRAGMENT_BIT, shared_ranges_frag}},
                  .layout = layout,
                  .next = &kInstrument});
  const RenderTarget target(context());
  const Instrumentation instrumentation(context());
  context().run([&](VkCommandBuffer commands) {
    const float scale[] = {1, 1}, tint[] = {0, 1, 0, 1};
    instrumentation.begin(commands);
    target.begin(commands);
    vkCmdBindPipeline(commands, kGraphics, pipeline);
    vkCmdPushConstants(commands, layout, VK_SHADER_STAGE_FRAGMENT_BIT, 16, sizeof tint, tint);
    vkCmdPushConstants(commands, layout, VK_SHADER_STAGE_VERTEX_BIT, 0, sizeof scale, scale);
    vkCmdDraw(commands, 3, 1, 0, 0);
    target.end(commands);
    instrumentation.end(commands);
  });
  EXPECT_EQ(target.read().at(0), 0xff00ff00u);
  EXPECT_EQ(Counts(instrumentation, VK_SHADER_STAGE_FRAGMENT_BIT, shared_ranges_frag).invocations(),
            64u * 64);
}

TEST_F(Address, a_layout_may_be_destroyed_once_the_pipeline_is_there) {
  PipelineLayout layout = make_pipeline_layout(context());
  const Pipeline pipeline = make_orange(layout);
  layout.reset();
  const RenderTarget target(context());
  const Instrumentation instrumentation(context());
  instrumentation.run([&](VkCommandBuffer commands) { draw_orange(commands, target, pipeline); });
  EXPECT_EQ(Counts(instrumentation, VK_SHADER_STAGE_FRAGMENT_BIT, orange_frag).invocations(),
            64u * 64);
}

TEST_F(Address, layouts_that_were_compatible_still_are) {
  const PipelineLayout one = make_pipeline_layout(context(), {{work().set.layout()}}, 4);
  const PipelineLayout other =
      make_pipeline_layout(context(), {{work().set.layout(), work().set.layout()}}, 4);
  const Pipeline pipeline = make_work(other);
  const Instrumentation instrumentation(context());
  context().run([&](VkCommandBuffer commands) {
    const uint32_t add = 5;
    instrumentation.begin(commands);
    work().set.bind(commands, one);
    vkCmdPushConstants(commands, one, VK_SHADER_STAGE_ALL, 0, 4, &add);
    vkCmdBindPipeline(commands, kCompute, pipeline);
    vkCmdDispatch(commands, 1, 1, 1);
    instrumentation.end(commands);
  });
  EXPECT_EQ(work().values.as<uint32_t>()[0], 5u);
  EXPECT_THAT(invocations(instrumentation), ElementsAre(Pair(0, 8)));
}

}  // namespace
}  // namespace tally::test
