// Result indices, the order and number of values, resubmission, clearing.
#include <cstring>

#include "api/kit.h"

namespace tally::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Pair = std::pair<uint32_t, uint64_t>;

class Values : public CountersTest {
 protected:
  template <typename Record>
  void measure(const Instrumentation& instrumentation, Record&& record) {
    instrumentation.run([&](VkCommandBuffer commands) { record(commands); });
  }
  auto get_values() {
    return function<PFN_vkGetShaderInstrumentationValuesARM>("vkGetShaderInstrumentationValuesARM");
  }
  size_t block_bytes(const Instrumentation& instrumentation) {
    return sizeof(VkShaderInstrumentationMetricDataHeaderARM) +
           8 * instrumentation.read().at(0).metrics.size();
  }
};

TEST_F(Values, a_new_object_has_none) {
  const Instrumentation instrumentation(context());
  EXPECT_THAT(instrumentation.read(), IsEmpty());
}

TEST_F(Values, every_block_of_every_command_stands_in_order) {
  const Instrumentation instrumentation(context());
  measure(instrumentation, [&](VkCommandBuffer commands) {
    for (uint32_t groups : {1u, 2u, 3u}) dispatch(commands, work().counting, groups);
  });
  uint32_t result = 0, block = 0;
  for (const BlockValues& values : instrumentation.read()) {
    if (values.header.resultIndex != result) block = 0;
    EXPECT_GE(values.header.resultIndex, result);
    result = values.header.resultIndex;
    EXPECT_EQ(values.header.resultSubIndex, 0u);
    EXPECT_EQ(values.header.stages, VkShaderStageFlags{VK_SHADER_STAGE_COMPUTE_BIT});
    EXPECT_EQ(values.header.basicBlockIndex, block++);
  }
  EXPECT_EQ(result, 2u);
  // Blocks: entry, odd invocations, all invocations.
  EXPECT_THAT(results(instrumentation),
              ElementsAre(std::pair(0u, std::vector<uint64_t>{8, 4, 8}),
                          std::pair(1u, std::vector<uint64_t>{16, 8, 16}),
                          std::pair(2u, std::vector<uint64_t>{24, 12, 24})));
}

// Invocations 0 to 7 of each workgroup, of which the odd ones take the branch of block 0 to
// block 1.
TEST_F(Values, a_branchs_targets_are_counted_with_the_setting) {
  start({{"count_branches", "true"}, {"verify_counts", "true"}});
  const Instrumentation instrumentation(context());
  measure(instrumentation, [&](VkCommandBuffer commands) {
    dispatch(commands, work().counting, 1);
    dispatch(commands, work().counting, 3);
  });
  const size_t first = instrumentation.metric("branch_target_0");
  std::vector<std::vector<uint64_t>> taken;
  for (const BlockValues& values : instrumentation.read()) {
    taken.push_back(
        {values.metrics.at(first), values.metrics.at(first + 1), values.metrics.at(first + 2)});
  }
  EXPECT_THAT(taken,
              ElementsAre(ElementsAre(4, 4, 0), ElementsAre(0, 0, 0), ElementsAre(0, 0, 0),
                          ElementsAre(12, 12, 0), ElementsAre(0, 0, 0), ElementsAre(0, 0, 0)));
}

TEST_F(Values, a_short_array_holds_the_first_blocks_and_the_call_says_incomplete) {
  const Instrumentation instrumentation(context());
  measure(instrumentation, [&](VkCommandBuffer commands) {
    dispatch(commands, work().counting, 1);
    dispatch(commands, work().counting, 2);
  });
  const size_t stride = block_bytes(instrumentation);
  std::vector<std::byte> all(6 * stride), some(6 * stride, std::byte{0xee});
  uint32_t count = 6;
  ASSERT_EQ(get_values()(context().device(), instrumentation.handle(), &count, all.data(), 0),
            VK_SUCCESS);
  ASSERT_EQ(count, 6u);
  for (uint32_t capacity = 0; capacity < 6; ++capacity) {
    std::fill(some.begin(), some.end(), std::byte{0xee});
    count = capacity;
    EXPECT_EQ(get_values()(context().device(), instrumentation.handle(), &count, some.data(), 0),
              VK_INCOMPLETE);
    EXPECT_EQ(count, capacity);
    EXPECT_EQ(std::memcmp(some.data(), all.data(), capacity * stride), 0);
    EXPECT_EQ(some[capacity * stride], std::byte{0xee}) << "written beyond the array";
  }
  count = 1000;
  all.resize(1000 * stride);
  EXPECT_EQ(get_values()(context().device(), instrumentation.handle(), &count, all.data(), 0),
            VK_SUCCESS);
  EXPECT_EQ(count, 6u);
}

TEST_F(Values, the_array_need_not_be_aligned) {
  const Instrumentation instrumentation(context());
  measure(instrumentation,
          [&](VkCommandBuffer commands) { dispatch(commands, work().counting, 1); });
  const size_t stride = block_bytes(instrumentation);
  std::vector<std::byte> aligned(3 * stride), odd(3 * stride + 1);
  uint32_t count = 3;
  check(get_values()(context().device(), instrumentation.handle(), &count, aligned.data(), 0));
  check(get_values()(context().device(), instrumentation.handle(), &count, odd.data() + 1, 0));
  EXPECT_EQ(std::memcmp(aligned.data(), odd.data() + 1, 3 * stride), 0);
}

TEST_F(Values, a_command_of_an_uninstrumented_pipeline_takes_an_index_and_gives_no_block) {
  const Instrumentation instrumentation(context());
  measure(instrumentation, [&](VkCommandBuffer commands) {
    dispatch(commands, work().plain, 1);
    dispatch(commands, work().counting, 2);
    dispatch(commands, work().plain, 1);
    dispatch(commands, work().counting, 3);
  });
  EXPECT_THAT(invocations(instrumentation), ElementsAre(Pair(1, 16), Pair(3, 24)));
}

TEST_F(Values, a_command_that_does_nothing_takes_an_index_and_gives_zeros) {
  const Instrumentation instrumentation(context());
  measure(instrumentation, [&](VkCommandBuffer commands) {
    dispatch(commands, work().counting, 0);
    dispatch(commands, work().counting, 1);
  });
  EXPECT_THAT(results(instrumentation), ElementsAre(std::pair(0u, std::vector<uint64_t>{0, 0, 0}),
                                                    std::pair(1u, std::vector<uint64_t>{8, 4, 8})));
}

TEST_F(Values, commands_outside_of_the_range_are_not_measured_and_take_no_index) {
  const Instrumentation instrumentation(context());
  context().run([&](VkCommandBuffer commands) {
    dispatch(commands, work().counting, 1);
    instrumentation.begin(commands);
    dispatch(commands, work().counting, 2);
    instrumentation.end(commands);
    dispatch(commands, work().counting, 4);
    instrumentation.begin(commands);
    dispatch(commands, work().counting, 3);
    instrumentation.end(commands);
  });
  EXPECT_THAT(invocations(instrumentation), ElementsAre(Pair(0, 16), Pair(1, 24)));
}

TEST_F(Values, a_pipeline_bound_before_the_range_is_measured_in_it) {
  const Instrumentation instrumentation(context());
  context().run([&](VkCommandBuffer commands) {
    dispatch(commands, work().counting, 1);
    instrumentation.begin(commands);
    vkCmdDispatch(commands, 2, 1, 1);
    full_barrier(commands);
    instrumentation.end(commands);
    vkCmdDispatch(commands, 4, 1, 1);
  });
  EXPECT_THAT(invocations(instrumentation), ElementsAre(Pair(0, 16)));
  // 1 + 2 + 4 groups; the first value is even, the second is odd and therefore tripled.
  EXPECT_EQ(work().values.as<uint32_t>()[0], 3u);
  EXPECT_EQ(work().values.as<uint32_t>()[1], 9u);
  EXPECT_EQ(work().values.as<uint32_t>()[8], 2u);
}

TEST_F(Values, what_the_shader_computes_is_the_same) {
  const Instrumentation instrumentation(context());
  measure(instrumentation,
          [&](VkCommandBuffer commands) { dispatch(commands, work().counting, 128, 7); });
  std::vector<uint32_t> counted(work().values.as<uint32_t>().begin(),
                                work().values.as<uint32_t>().end());
  work().values.clear();
  context().run([&](VkCommandBuffer commands) { dispatch(commands, work().plain, 128, 7); });
  EXPECT_EQ(counted, std::vector<uint32_t>(work().values.as<uint32_t>().begin(),
                                           work().values.as<uint32_t>().end()));
}

TEST_F(Values, submitting_again_adds) {
  const Instrumentation instrumentation(context());
  const VkCommandBuffer commands = context().begin_commands(0);
  instrumentation.begin(commands);
  dispatch(commands, work().counting, 1);
  dispatch(commands, work().counting, 2);
  instrumentation.end(commands);
  check(vkEndCommandBuffer(commands));
  EXPECT_THAT(invocations(instrumentation), ElementsAre(Pair(0, 0), Pair(1, 0)));
  for (uint64_t times = 1; times <= 3; ++times) {
    context().submit_and_wait(commands);
    EXPECT_THAT(invocations(instrumentation), ElementsAre(Pair(0, 8 * times), Pair(1, 16 * times)));
  }
}

TEST_F(Values, clearing_sets_to_zero_and_keeps_the_indices) {
  const Instrumentation instrumentation(context());
  const VkCommandBuffer commands = context().begin_commands(0);
  instrumentation.begin(commands);
  dispatch(commands, work().counting, 1);
  instrumentation.end(commands);
  check(vkEndCommandBuffer(commands));
  context().submit_and_wait(commands);
  instrumentation.clear();
  EXPECT_THAT(results(instrumentation), ElementsAre(std::pair(0u, std::vector<uint64_t>{0, 0, 0})));
  context().submit_and_wait(commands);
  EXPECT_THAT(invocations(instrumentation), ElementsAre(Pair(0, 8)));
  measure(instrumentation, [&](VkCommandBuffer more) { dispatch(more, work().counting, 2); });
  EXPECT_THAT(invocations(instrumentation), ElementsAre(Pair(0, 8), Pair(1, 16)));
}

TEST_F(Values, simultaneous_executions_of_one_command_buffer_add) {
  const Instrumentation instrumentation(context());
  const VkCommandBuffer commands =
      context().begin_commands(VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT);
  instrumentation.begin(commands);
  dispatch(commands, work().counting, 64);
  instrumentation.end(commands);
  check(vkEndCommandBuffer(commands));
  VkSubmitInfo submit{VK_STRUCTURE_TYPE_SUBMIT_INFO};
  submit.commandBufferCount = 1;
  submit.pCommandBuffers = &commands;
  for (int i = 0; i < 5; ++i) check(vkQueueSubmit(context().queue(), 1, &submit, VK_NULL_HANDLE));
  check(vkQueueWaitIdle(context().queue()));
  EXPECT_THAT(invocations(instrumentation), ElementsAre(Pair(0, 5 * 512)));
}

TEST_F(Values, two_objects_in_one_command_buffer_do_not_mix) {
  const Instrumentation first(context()), second(context());
  context().run([&](VkCommandBuffer commands) {
    first.begin(commands);
    dispatch(commands, work().counting, 1);
    first.end(commands);
    second.begin(commands);
    dispatch(commands, work().counting, 2);
    second.end(commands);
    first.begin(commands);
    dispatch(commands, work().counting, 3);
    first.end(commands);
  });
  EXPECT_THAT(invocations(first), ElementsAre(Pair(0, 8), Pair(1, 24)));
  EXPECT_THAT(invocations(second), ElementsAre(Pair(0, 16)));
}

// Direct, indirect, empty, and resubmitted dispatches.
TEST_F(Values, dispatches_of_all_shapes_are_counted) {
  const Work work(context());
  const Pipeline pipeline = make_work(work.layout);
  const Buffer arguments(context(), 64, VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT);
  arguments.as<VkDispatchIndirectCommand>()[0] = {3, 4, 5};
  const Instrumentation instrumentation(context());
  const VkCommandBuffer commands = context().begin_commands(0);
  instrumentation.begin(commands);
  const uint32_t add = 1;
  vkCmdBindPipeline(commands, kCompute, pipeline);
  work.set.bind(commands, work.layout);
  vkCmdPushConstants(commands, work.layout, VK_SHADER_STAGE_ALL, 0, 4, &add);
  vkCmdDispatch(commands, 7, 2, 3);
  vkCmdDispatch(commands, 7, 0, 3);
  vkCmdDispatchIndirect(commands, arguments, 0);
  instrumentation.end(commands);
  check(vkEndCommandBuffer(commands));
  for (int i = 0; i < 2; ++i) context().submit_and_wait(commands);
  EXPECT_THAT(results(instrumentation),
              ElementsAre(std::pair(0u, std::vector<uint64_t>{672, 336, 672}),
                          std::pair(1u, std::vector<uint64_t>{0, 0, 0}),
                          std::pair(2u, std::vector<uint64_t>{960, 480, 960})));
}

TEST_F(Values, every_way_of_counting_and_placing_gives_the_same) {
  for (const char* placement : {"minimal", "every"}) {
    for (const char* counting : {"private", "subgroup", "lane"}) {
      for (const char* shards : {"1", "4", "256"}) {
        start({{"placement", placement}, {"counting", counting}, {"shards", shards}});
        const Work work(context());
        const Pipeline pipeline = make_work(work.layout);
        const Instrumentation instrumentation(context());
        instrumentation.run([&](VkCommandBuffer commands) {
          const uint32_t add = 1;
          vkCmdBindPipeline(commands, kCompute, pipeline);
          work.set.bind(commands, work.layout);
          vkCmdPushConstants(commands, work.layout, VK_SHADER_STAGE_ALL, 0, 4, &add);
          vkCmdDispatch(commands, 100, 1, 1);
        });
        EXPECT_THAT(results(instrumentation),
                    ElementsAre(std::pair(0u, std::vector<uint64_t>{800, 400, 800})))
            << placement << " " << counting << " " << shards;
      }
    }
  }
}

}  // namespace
}  // namespace tally::test
