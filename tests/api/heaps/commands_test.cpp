// Pipelines with descriptor heaps count like others, in any order of the commands that bind
// descriptors, and the application's own descriptors stay as they are.
#include "add.comp.h"
#include "api/heaps/kit.h"
#include "branchy.frag.h"
#include "orange.frag.h"
#include "rectangle.vert.h"

namespace tally::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

constexpr const char* kMixed = "TALLY-mixed-descriptors";

class DescriptorHeaps : public HeapsTest {
 protected:
  void SetUp() override {
    if (!start_heaps()) GTEST_SKIP() << missing();
  }
  void dispatch_add(VkCommandBuffer commands, const Buffer& values, uint32_t groups, uint32_t add) {
    push(commands, AddPush{values.address(), add});
    dispatch_groups(commands, groups);
  }
};

TEST_F(DescriptorHeaps, dispatches_count_as_with_a_layout) {
  const Buffer values = make_values();
  const Buffer others = make_values();
  const Pipeline pipeline = make_heap_compute(add_comp);
  const PipelineLayout layout = make_pipeline_layout(context(), {}, sizeof(AddPush));
  const Pipeline usual = make_compute_pipeline(
      context(), {{VK_SHADER_STAGE_COMPUTE_BIT, add_comp}, layout, {}, 0, &kInstrument});
  const Instrumentation heaps(context());
  const Instrumentation sets(context());
  heaps.run([&](VkCommandBuffer commands) {
    vkCmdBindPipeline(commands, kCompute, pipeline);
    for (const uint32_t groups : {3, 1}) dispatch_add(commands, values, groups, 5);
  });
  sets.run([&](VkCommandBuffer commands) {
    vkCmdBindPipeline(commands, kCompute, usual);
    const AddPush push{others.address(), 5};
    vkCmdPushConstants(commands, layout, VK_SHADER_STAGE_ALL, 0, sizeof push, &push);
    for (const uint32_t groups : {3, 1}) dispatch_groups(commands, groups);
  });
  EXPECT_THAT(invocations(heaps), ElementsAre(Pair(0, 24), Pair(1, 8)));
  EXPECT_EQ(results(heaps), results(sets));
  EXPECT_TRUE(std::ranges::equal(values.as<uint32_t>(), others.as<uint32_t>()));
}

TEST_F(DescriptorHeaps, nothing_counts_outside_of_a_range) {
  const Buffer values = make_values();
  const Pipeline pipeline = make_heap_compute(add_comp);
  const Instrumentation instrumentation(context());
  context().run([&](VkCommandBuffer commands) {
    vkCmdBindPipeline(commands, kCompute, pipeline);
    dispatch_add(commands, values, 2, 1);
    instrumentation.begin(commands);
    instrumentation.end(commands);
    dispatch_add(commands, values, 2, 1);
  });
  EXPECT_THAT(instrumentation.read(), IsEmpty());
  expect_added(values, {{16, 2}});
}

// Pipeline, push data and heaps in each order, with push data that last for several dispatches.
TEST_F(DescriptorHeaps, count_in_every_order_of_binds_and_push_data) {
  const Buffer values = make_values();
  const Pipeline pipeline = make_heap_compute(add_comp);
  const Instrumentation instrumentation(context());
  instrumentation.run([&](VkCommandBuffer commands) {
    vkCmdBindPipeline(commands, kCompute, pipeline);
    bind_resource_heap(commands);
    dispatch_add(commands, values, 1, 1);
    bind_resource_heap(commands);
    dispatch_groups(commands, 2);
    push(commands, AddPush{values.address(), 10});
    vkCmdBindPipeline(commands, kCompute, pipeline);
    dispatch_groups(commands, 3);
    push(commands, uint32_t{100}, offsetof(AddPush, add));
    dispatch_groups(commands, 4);
  });
  EXPECT_THAT(invocations(instrumentation),
              ElementsAre(Pair(0, 8), Pair(1, 16), Pair(2, 24), Pair(3, 32)));
  expect_added(values, {{8, 1}, {16, 1}, {24, 10}, {32, 100}});
}

TEST_F(DescriptorHeaps, count_between_commands_with_descriptor_sets) {
  const Buffer values = make_values();
  const Pipeline pipeline = make_heap_compute(add_comp);
  const Instrumentation instrumentation(context());
  instrumentation.run([&](VkCommandBuffer commands) {
    dispatch(commands, work().counting, 1, 7);
    bind_resource_heap(commands);
    vkCmdBindPipeline(commands, kCompute, pipeline);
    dispatch_add(commands, values, 2, 3);
    dispatch(commands, work().counting, 3, 7);
    vkCmdBindPipeline(commands, kCompute, pipeline);
    bind_resource_heap(commands);
    dispatch_add(commands, values, 2, 4);
  });
  EXPECT_THAT(invocations(instrumentation),
              ElementsAre(Pair(0, 8), Pair(1, 16), Pair(2, 24), Pair(3, 16)));
  expect_added(values, {{16, 7}});
  expect_added(work().values, {{8, 7}, {24, 7}});
  EXPECT_FALSE(has_message(kMixed));
}

// The record pointer would invalidate the application's descriptor sets.
TEST_F(DescriptorHeaps, leave_descriptor_sets_that_stay_bound_alone) {
  const Pipeline orange = make_heap_orange();
  const RenderTarget target(context());
  const Instrumentation instrumentation(context());
  context().run([&](VkCommandBuffer commands) {
    instrumentation.begin(commands);
    dispatch(commands, work().counting, 1, 7);
    draw_orange(commands, target, orange);
    dispatch_groups(commands, 2);  // with the sets and constants of the first dispatch
    bind_resource_heap(commands);
    target.begin(commands);
    vkCmdDraw(commands, 3, 1, 0, 0);
    target.end(commands);
    instrumentation.end(commands);
    full_barrier(commands);
  });
  const auto compute = [&](uint32_t result) {
    return Counts(instrumentation, VK_SHADER_STAGE_COMPUTE_BIT, work_shader(), result);
  };
  EXPECT_EQ(compute(0).invocations(), 8u);
  EXPECT_EQ(compute(2).invocations(), 16u);
  expect_added(work().values, {{8, 7}, {16, 7}});
  const Counts fragments(instrumentation, VK_SHADER_STAGE_FRAGMENT_BIT, orange_frag, 3);
  EXPECT_EQ(fragments.invocations(), 4096u) << "draws with heaps count again";
  EXPECT_TRUE(has_message(kMixed));
}

// It invalidates descriptor sets, so nothing of the application is lost by the record pointer.
TEST_F(DescriptorHeaps, count_once_a_sampler_heap_is_bound) {
  const Pipeline orange = make_heap_orange();
  const RenderTarget target(context());
  const Instrumentation instrumentation(context());
  context().run([&](VkCommandBuffer commands) {
    instrumentation.begin(commands);
    dispatch(commands, work().counting, 1, 7);
    bind_sampler_heap(commands);
    draw_orange(commands, target, orange);
    dispatch(commands, work().counting, 2, 7);
    instrumentation.end(commands);
    full_barrier(commands);
  });
  const Counts fragments(instrumentation, VK_SHADER_STAGE_FRAGMENT_BIT, orange_frag, 1);
  EXPECT_EQ(fragments.invocations(), 4096u);
  const Counts after(instrumentation, VK_SHADER_STAGE_COMPUTE_BIT, work_shader(), 2);
  EXPECT_EQ(after.invocations(), 16u);
  EXPECT_FALSE(has_message(kMixed));
}

// The same the other way round.
TEST_F(DescriptorHeaps, that_stay_bound_are_left_alone_by_pipelines_with_a_layout) {
  const Buffer values = make_values();
  const Pipeline pipeline = make_heap_compute(add_comp);
  const PipelineLayout layout = make_pipeline_layout(context());
  const Pipeline orange = make_orange(layout);
  const RenderTarget target(context());
  const Instrumentation instrumentation(context());
  context().run([&](VkCommandBuffer commands) {
    instrumentation.begin(commands);
    bind_resource_heap(commands);
    vkCmdBindPipeline(commands, kCompute, pipeline);
    dispatch_add(commands, values, 1, 3);
    draw_orange(commands, target, orange);
    vkCmdDispatch(commands, 2, 1, 1);  // with the heap and push data of the first dispatch
    instrumentation.end(commands);
    full_barrier(commands);
  });
  EXPECT_THAT(invocations(instrumentation), ElementsAre(Pair(0, 8), Pair(2, 16)));
  expect_added(values, {{8, 3}, {16, 3}});
  EXPECT_TRUE(has_message(kMixed));
}

TEST_F(DescriptorHeaps, draws_count_and_draw_as_without_instrumentation) {
  const Pipeline plain = make_heap_rectangles(branchy_frag, kHeapBit);
  const Pipeline counting = make_heap_rectangles(branchy_frag);
  const RenderTarget target(context());
  std::vector<std::vector<uint32_t>> pictures;
  const Instrumentation uncounted(context());
  const Instrumentation counted(context());
  const auto run = [&](const Instrumentation& instrumentation, VkPipeline pipeline) {
    context().run([&](VkCommandBuffer commands) {
      instrumentation.begin(commands);
      target.begin(commands);
      vkCmdBindPipeline(commands, kGraphics, pipeline);
      push(commands, RectanglePush{0, 0, 64, 64, 64, 64});
      vkCmdDraw(commands, 4, 1, 0, 0);
      vkCmdDraw(commands, 4, 2, 0, 7);
      push(commands, RectanglePush{5, 6, 25, 36, 64, 64});
      vkCmdDraw(commands, 4, 1, 0, 0);
      bind_resource_heap(commands);
      vkCmdDraw(commands, 4, 1, 0, 0);
      target.end(commands);
      instrumentation.end(commands);
      full_barrier(commands);
    });
    pictures.push_back(target.read());
  };
  run(uncounted, plain);
  run(counted, counting);
  EXPECT_THAT(uncounted.read(), IsEmpty());
  EXPECT_EQ(pictures[0], pictures[1]);
  const uint64_t pixels[] = {4096, 8192, 600, 600};
  for (uint32_t draw = 0; draw < 4; ++draw) {
    const Counts fragments(counted, VK_SHADER_STAGE_FRAGMENT_BIT, branchy_frag, draw);
    const Counts vertices(counted, VK_SHADER_STAGE_VERTEX_BIT, rectangle_vert, draw);
    EXPECT_EQ(fragments.invocations(), pixels[draw]) << draw;
    EXPECT_GE(vertices.invocations(), draw == 1 ? 8u : 4u) << draw;
  }
}

// Consecutive draws need no push, unless the record pointer was lost between them.
TEST_F(DescriptorHeaps, draws_count_after_the_record_pointer_was_lost) {
  const Pipeline pipeline = make_heap_rectangles(branchy_frag);
  const RenderTarget target(context());
  const uint32_t end = max_push_data(Context(without_counters()));
  const Instrumentation instrumentation(context());
  context().run([&](VkCommandBuffer commands) {
    const uint32_t words[4] = {1, 2, 3, 4};
    const RectanglePush whole{0, 0, 64, 64, 64, 64};
    instrumentation.begin(commands);
    target.begin(commands);
    vkCmdBindPipeline(commands, kGraphics, pipeline);
    push(commands, whole);
    vkCmdDraw(commands, 4, 1, 0, 0);
    vkCmdDraw(commands, 4, 1, 0, 0);
    work().set.bind(commands, work().layout);
    push(commands, whole);
    vkCmdDraw(commands, 4, 1, 0, 0);
    push_bytes(commands, end - sizeof words, words, sizeof words);
    vkCmdDraw(commands, 4, 1, 0, 0);
    target.end(commands);
    instrumentation.end(commands);
    full_barrier(commands);
  });
  for (uint32_t draw = 0; draw < 4; ++draw) {
    const Counts fragments(instrumentation, VK_SHADER_STAGE_FRAGMENT_BIT, branchy_frag, draw);
    EXPECT_EQ(fragments.invocations(), 4096u) << draw;
  }
}

TEST_F(DescriptorHeaps, secondary_command_buffers_that_inherit_heaps_count) {
  const Buffer values = make_values();
  const Pipeline pipeline = make_heap_compute(add_comp);
  const Instrumentation instrumentation(context());
  const VkCommandBuffer secondary = begin_secondary();
  instrumentation.begin(secondary);
  vkCmdBindPipeline(secondary, kCompute, pipeline);
  dispatch_add(secondary, values, 2, 3);
  dispatch_groups(secondary, 1);
  instrumentation.end(secondary);
  check(vkEndCommandBuffer(secondary));
  context().run([&](VkCommandBuffer commands) {
    bind_resource_heap(commands);
    vkCmdExecuteCommands(commands, 1, &secondary);
    vkCmdBindPipeline(commands, kCompute, pipeline);
    bind_resource_heap(commands);
    dispatch_add(commands, values, 2, 10);
  });
  EXPECT_THAT(invocations(instrumentation), ElementsAre(Pair(0, 16), Pair(1, 8)));
  expect_added(values, {{16, 3}, {8, 3}, {16, 10}});
}

}  // namespace
}  // namespace tally::test
