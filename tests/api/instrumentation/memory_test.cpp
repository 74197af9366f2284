// Where records are stored: mapped memory or memory that only the GPU accesses, growth, and
// behaviour when no memory is left.
#include "api/kit.h"
#include "full_screen.vert.h"
#include "orange.frag.h"

namespace tally::test {
namespace {

using Pair = std::pair<uint32_t, uint64_t>;

class Memory : public CountersTest {
 protected:
  // A value of record_memory, or "uncached": the driver has no memory that the processor caches.
  static constexpr const char* kModes[] = {"auto", "host", "device", "uncached"};
  void start_in(const char* mode, LayerSettings::Pairs settings = {}) {
    ContextOptions options;
    if (std::string_view(mode) == "uncached") {
      options.driver_layers.push_back("VK_LAYER_TALLY_test_uncached_driver");
    } else {
      settings.emplace_back("record_memory", mode);
    }
    start(settings, options);
  }

  // Measures `count` dispatches of one group into the object, submitted `times` times.
  void measure(const Instrumentation& instrumentation, uint32_t count, int times = 1) {
    const VkCommandBuffer commands = context().begin_commands(0);
    instrumentation.begin(commands);
    for (uint32_t i = 0; i < count; ++i) dispatch(commands, work().counting, 1);
    instrumentation.end(commands);
    check(vkEndCommandBuffer(commands));
    for (int i = 0; i < times; ++i) context().submit_and_wait(commands);
    vkFreeCommandBuffers(context().device(), context().command_pool(), 1, &commands);
  }
  // Each of the first `count` results must be eight invocations times `times`.
  void expect_uniform(const Instrumentation& instrumentation, uint32_t count, uint64_t times = 1) {
    const auto counted = invocations(instrumentation);
    ASSERT_EQ(counted.size(), count);
    for (uint32_t i = 0; i < count; ++i) ASSERT_EQ(counted[i], Pair(i, 8 * times)) << i;
  }
};

TEST_F(Memory, every_kind_counts_adds_and_clears_the_same) {
  for (const char* mode : kModes) {
    start_in(mode);
    const Instrumentation instrumentation(context());
    measure(instrumentation, 5, 3);
    expect_uniform(instrumentation, 5, 3);
    instrumentation.clear();
    expect_uniform(instrumentation, 5, 0);
    measure(instrumentation, 1);
    EXPECT_EQ(invocations(instrumentation).back(), Pair(5, 8)) << mode;
  }
}

TEST_F(Memory, memory_used_before_is_zero_again_for_the_next_object) {
  for (const char* mode : kModes) {
    start_in(mode);
    for (int round = 0; round < 20; ++round) {
      const Instrumentation instrumentation(context());
      const uint32_t count = round % 2 == 0 ? 3 : 300;  // the GPU gathers only many records
      measure(instrumentation, count);
      expect_uniform(instrumentation, count);
    }
  }
}

TEST_F(Memory, records_grow_over_many_chunks) {
  for (const char* mode : kModes) {
    start_in(mode, {{"shards", "64"}});  // 8 KiB per record: 24 MiB in all
    const Instrumentation instrumentation(context());
    measure(instrumentation, 3000);
    expect_uniform(instrumentation, 3000);
  }
}

// In mode "device" the GPU gathers the records of the first of the three command buffers alone. In
// mode "uncached" the host reads all, because they are few.
TEST_F(Memory, executions_add_up_whether_or_not_the_gpu_gathers_the_records) {
  for (const char* mode : kModes) {
    start_in(mode);
    const Instrumentation instrumentation(context());
    const auto measured = [&](VkCommandBuffer commands, uint32_t groups) {
      instrumentation.begin(commands);
      dispatch(commands, work().counting, groups);
      instrumentation.end(commands);
      check(vkEndCommandBuffer(commands));
    };
    const VkCommandBuffer plain = context().begin_commands(0);
    measured(plain, 1);
    const VkCommandBuffer simultaneous =
        context().begin_commands(VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT);
    measured(simultaneous, 2);
    const VkCommandBuffer secondary = context().begin_secondary();
    measured(secondary, 9);
    const auto counted = [&] { return invocations(instrumentation); };
    for (uint64_t round = 1; round <= 3; ++round) {
      for (uint64_t i = 0; i < round; ++i) context().submit_and_wait(plain);
      const VkCommandBuffer both[] = {simultaneous, simultaneous};
      context().submit_and_wait(both);
      context().run([&](VkCommandBuffer commands) {
        vkCmdExecuteCommands(commands, 1, &secondary);
        // A command of its own, in a range that is gathered.
        instrumentation.begin(commands);
        dispatch(commands, work().counting, 5);
        instrumentation.end(commands);
      });
      const uint64_t runs = round * (round + 1) / 2;
      ASSERT_EQ(counted().size(), 3 + round) << mode;
      EXPECT_EQ(counted()[0], Pair(0, 8 * runs)) << mode;
      EXPECT_EQ(counted()[1], Pair(1, 8 * 2 * 2 * round)) << mode;
      EXPECT_EQ(counted()[2], Pair(2, 8 * 9 * round)) << mode;
      EXPECT_EQ(counted().back(), Pair(2 + round, 8 * 5)) << mode;
    }
    instrumentation.clear();
    context().submit_and_wait(plain);
    EXPECT_EQ(counted()[0], Pair(0, 8)) << mode;
    EXPECT_EQ(counted()[1], Pair(1, 0)) << mode;
    EXPECT_EQ(counted()[2], Pair(2, 0)) << mode;
    EXPECT_EQ(counted().back(), Pair(5, 0)) << mode;
  }
}

TEST_F(Memory, graphics_count_with_records_that_only_the_gpu_reaches) {
  start({{"record_memory", "device"}});
  const RenderTarget target(context());
  const PipelineLayout layout = make_pipeline_layout(context());
  const Pipeline pipeline = make_orange(layout);
  const Instrumentation instrumentation(context());
  instrumentation.run([&](VkCommandBuffer commands) { draw_orange(commands, target, pipeline); });
  EXPECT_EQ(Counts(instrumentation, VK_SHADER_STAGE_FRAGMENT_BIT, orange_frag).invocations(),
            64u * 64);
}

TEST_F(Memory, commands_without_memory_run_uncounted_and_a_message_says_so) {
  for (const char* mode : kModes) {
    for (const char* address : {"push_constant", "descriptor"}) {
      // Capacity for eight records of 8 KiB.
      start_in(mode,
               {{"record_memory_limit", "64"}, {"shards", "64"}, {"record_address", address}});
      static_cast<void>(work());
      const Instrumentation small(context());
      const VkCommandBuffer commands = context().begin_commands(0);
      small.begin(commands);
      for (int i = 0; i < 9; ++i) {
        dispatch(commands, work().counting, 1);
        full_barrier(commands);
      }
      small.end(commands);
      ASSERT_EQ(vkEndCommandBuffer(commands), VK_SUCCESS) << mode << " " << address;
      context().submit_and_wait(commands);
      EXPECT_EQ(work().values.as<uint32_t>()[0], 9u);
      expect_uniform(small, 8);
      EXPECT_EQ(std::ranges::count_if(context().messages(),
                                      [](const Message& message) {
                                        return message.id == "TALLY-uncounted-commands" &&
                                               message.text.find("record_memory_limit") !=
                                                   std::string::npos;
                                      }),
                1);

      // After a reset, the command buffer works like any other.
      check(vkResetCommandBuffer(commands, 0));
      const VkCommandBufferBeginInfo begin{VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
      check(vkBeginCommandBuffer(commands, &begin));
      dispatch(commands, work().counting, 1);
      EXPECT_EQ(vkEndCommandBuffer(commands), VK_SUCCESS);
      context().submit_and_wait(commands);
      EXPECT_EQ(work().values.as<uint32_t>()[0], 10u);
    }
  }
}

TEST_F(Memory, what_an_object_held_is_free_for_others_when_it_is_destroyed) {
  start({{"record_memory_limit", "64"}, {"shards", "64"}});
  static_cast<void>(work());
  for (int round = 0; round < 5; ++round) {
    const Instrumentation instrumentation(context());
    measure(instrumentation, 8);
    expect_uniform(instrumentation, 8);
  }
}

TEST_F(Memory, ranges_of_one_object_share_pages) {
  start({{"record_memory_limit", "64"}, {"shards", "1"}});  // one page
  const Instrumentation instrumentation(context());
  for (int i = 0; i < 100; ++i) measure(instrumentation, 2);
  expect_uniform(instrumentation, 200);
}

}  // namespace
}  // namespace tally::test
