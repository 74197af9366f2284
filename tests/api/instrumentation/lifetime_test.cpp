// Objects that may be reset, freed and destroyed while values are kept, and use from several
// threads and queues.
#include <thread>

#include "api/kit.h"

namespace tally::test {
namespace {

using testing::ElementsAre;
using Pair = std::pair<uint32_t, uint64_t>;

class Lifetime : public CountersTest {
 protected:
  void measure(const Instrumentation& instrumentation, VkCommandBuffer commands, uint32_t groups) {
    instrumentation.begin(commands);
    dispatch(commands, work().counting, groups);
    instrumentation.end(commands);
    check(vkEndCommandBuffer(commands));
    context().submit_and_wait(commands);
  }
};

TEST_F(Lifetime, values_survive_reset_and_destruction_of_the_pool) {
  const Instrumentation instrumentation(context());
  Recording recording(context());
  measure(instrumentation, recording.commands, 1);
  check(vkResetCommandPool(context().device(), recording.pool, 0));
  EXPECT_THAT(invocations(instrumentation), ElementsAre(Pair(0, 8)));
  recording.begin();
  measure(instrumentation, recording.commands, 2);
  EXPECT_THAT(invocations(instrumentation), ElementsAre(Pair(0, 8), Pair(1, 16)));
  recording.pool.reset();
  EXPECT_THAT(invocations(instrumentation), ElementsAre(Pair(0, 8), Pair(1, 16)));
}

TEST_F(Lifetime, a_reset_ends_the_range_of_a_command_buffer) {
  const Instrumentation instrumentation(context());
  const Recording recording(context());
  instrumentation.begin(recording.commands);
  dispatch(recording.commands, work().counting, 1);
  check(vkResetCommandPool(context().device(), recording.pool, 0));
  recording.begin();
  dispatch(recording.commands, work().counting, 1);
  measure(instrumentation, recording.commands, 2);
  EXPECT_THAT(invocations(instrumentation), ElementsAre(Pair(0, 0), Pair(1, 16)));
}

TEST_F(Lifetime, beginning_a_command_buffer_again_drops_what_it_recorded) {
  const Instrumentation instrumentation(context());
  const Recording recording(context(), VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT);
  measure(instrumentation, recording.commands, 1);
  recording.begin();
  measure(instrumentation, recording.commands, 2);
  EXPECT_THAT(invocations(instrumentation), ElementsAre(Pair(0, 8), Pair(1, 16)));
}

TEST_F(Lifetime, values_survive_pipeline_layout_and_module) {
  const Instrumentation instrumentation(context());
  {
    const PipelineLayout layout = make_pipeline_layout(context(), {{work().set.layout()}}, 4);
    const Pipeline pipeline = make_work(layout);
    instrumentation.run([&](VkCommandBuffer commands) { dispatch(commands, pipeline, 3); });
  }
  EXPECT_THAT(results(instrumentation),
              ElementsAre(std::pair(0u, std::vector<uint64_t>{24, 12, 24})));
}

TEST_F(Lifetime, objects_may_be_destroyed_with_their_command_buffers_still_there) {
  const Recording recording(context());
  {
    const Instrumentation instrumentation(context());
    measure(instrumentation, recording.commands, 1);
  }
  check(vkResetCommandPool(context().device(), recording.pool, 0));
  recording.begin();
  const Instrumentation other(context());
  measure(other, recording.commands, 2);
  EXPECT_THAT(invocations(other), ElementsAre(Pair(0, 16)));
}

TEST_F(Lifetime, a_device_with_everything_still_there_can_be_destroyed) {
  // Objects leak intentionally; the validation layer would report them.
  Context bare(with_instrumentation());
  const VkShaderInstrumentationCreateInfoARM info{
      VK_STRUCTURE_TYPE_SHADER_INSTRUMENTATION_CREATE_INFO_ARM};
  VkShaderInstrumentationARM object = VK_NULL_HANDLE;
  check(bare.function<PFN_vkCreateShaderInstrumentationARM>("vkCreateShaderInstrumentationARM")(
      bare.device(), &info, nullptr, &object));
  const VkCommandBuffer commands = bare.begin_commands(0);
  bare.function<PFN_vkCmdBeginShaderInstrumentationARM>("vkCmdBeginShaderInstrumentationARM")(
      commands, object);
  SUCCEED();
}

TEST_F(Lifetime, handles_are_not_used_again) {
  std::set<uint64_t> seen;
  for (int i = 0; i < 100; ++i) {
    const Instrumentation instrumentation(context());
    EXPECT_TRUE(seen.insert(reinterpret_cast<uint64_t>(instrumentation.handle())).second);
  }
}

// Each thread records into its own pools and object, and all threads into one shared object.
TEST_F(Lifetime, several_threads_record_create_and_read_at_once) {
  constexpr int kThreads = 4, kRounds = 25, kDispatches = 8;
  static_cast<void>(work());
  const Instrumentation shared(context());
  std::mutex queue_mutex, shared_mutex;
  const auto work_on_it = [&](int thread) {
    const Instrumentation own(context());
    const Recording recording(context(), VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT);
    const StorageSet set(context(), {work().values});
    for (int round = 0; round < kRounds; ++round) {
      if (round > 0) recording.begin();
      const Pipeline pipeline = make_work(work().layout);
      const VkCommandBuffer commands = recording.commands;
      vkCmdBindPipeline(commands, kCompute, pipeline);
      set.bind(commands, work().layout);
      const uint32_t add = 0;
      vkCmdPushConstants(commands, work().layout, VK_SHADER_STAGE_ALL, 0, 4, &add);
      own.begin(commands);
      for (int i = 0; i < kDispatches; ++i)
        vkCmdDispatch(commands, static_cast<uint32_t>(thread) + 1, 1, 1);
      own.end(commands);
      {
        const std::lock_guard lock(shared_mutex);
        shared.begin(commands);
      }
      for (int i = 0; i < kDispatches; ++i) vkCmdDispatch(commands, 1, 1, 1);
      shared.end(commands);
      check(vkEndCommandBuffer(commands));
      const std::lock_guard lock(queue_mutex);
      context().submit_and_wait(commands);
    }
    const auto counted = invocations(own);
    EXPECT_EQ(counted.size(), size_t{kRounds * kDispatches});
    for (const auto& [index, count] : counted)
      EXPECT_EQ(count, 8u * (static_cast<uint32_t>(thread) + 1));
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) threads.emplace_back(work_on_it, i);
  for (int i = 0; i < 20; ++i) static_cast<void>(shared.read());
  for (std::thread& thread : threads) thread.join();

  const auto counted = invocations(shared);
  ASSERT_EQ(counted.size(), size_t{kThreads * kRounds * kDispatches});
  for (uint32_t i = 0; i < counted.size(); ++i) ASSERT_EQ(counted[i], Pair(i, 8));
}

TEST_F(Lifetime, several_queues_write_one_object) {
  start({}, {.queue_count = 4});
  if (context().queue_count() < 2) GTEST_SKIP() << "the device has one queue";
  const Instrumentation instrumentation(context());
  for (uint32_t queue = 0; queue < context().queue_count(); ++queue) {
    const VkCommandBuffer commands = context().begin_commands();
    instrumentation.begin(commands);
    dispatch(commands, work().counting, queue + 1);
    instrumentation.end(commands);
    check(vkEndCommandBuffer(commands));
    context().submit_and_wait({&commands, 1}, queue);
  }
  const auto counted = invocations(instrumentation);
  ASSERT_EQ(counted.size(), context().queue_count());
  for (uint32_t i = 0; i < counted.size(); ++i) EXPECT_EQ(counted[i], Pair(i, 8 * (i + 1)));
}

TEST_F(Lifetime, two_devices_do_not_meet) {
  Context second(with_instrumentation());
  const Instrumentation here(context()), there(second);
  here.run([&](VkCommandBuffer commands) { dispatch(commands, work().counting, 1); });
  EXPECT_THAT(invocations(here), ElementsAre(Pair(0, 8)));
  EXPECT_TRUE(there.read().empty());
}

TEST_F(Lifetime, submissions_through_synchronization2_are_tracked_too) {
  const Instrumentation instrumentation(context());
  const VkCommandBuffer commands = context().begin_commands();
  instrumentation.begin(commands);
  dispatch(commands, work().counting, 1);
  instrumentation.end(commands);
  check(vkEndCommandBuffer(commands));
  const VkCommandBufferSubmitInfo buffer{VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO, nullptr,
                                         commands};
  VkSubmitInfo2 submit{VK_STRUCTURE_TYPE_SUBMIT_INFO_2};
  submit.commandBufferInfoCount = 1;
  submit.pCommandBufferInfos = &buffer;
  VkFence handle = VK_NULL_HANDLE;
  const VkFenceCreateInfo fence_info{VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
  check(vkCreateFence(context().device(), &fence_info, nullptr, &handle));
  const Fence fence(context().device(), handle);
  check(vkQueueSubmit2(context().queue(), 1, &submit, fence));
  check(vkWaitForFences(context().device(), 1, fence.address(), VK_TRUE, UINT64_MAX));
  EXPECT_THAT(invocations(instrumentation), ElementsAre(Pair(0, 8)));
}

TEST_F(Lifetime, a_timeline_semaphore_tells_that_the_object_is_free) {
  const VkSemaphoreTypeCreateInfo type{VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO, nullptr,
                                       VK_SEMAPHORE_TYPE_TIMELINE, 0};
  const VkSemaphoreCreateInfo info{VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, &type};
  VkSemaphore handle = VK_NULL_HANDLE;
  check(vkCreateSemaphore(context().device(), &info, nullptr, &handle));
  const Handle<VkSemaphore, vkDestroySemaphore> semaphore(context().device(), handle);
  for (uint64_t value = 1; value <= 20; ++value) {
    const Instrumentation instrumentation(context());
    const VkCommandBuffer commands = context().begin_commands();
    instrumentation.begin(commands);
    dispatch(commands, work().counting, 1);
    instrumentation.end(commands);
    check(vkEndCommandBuffer(commands));
    const VkTimelineSemaphoreSubmitInfo timeline{
        VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO, nullptr, 0, nullptr, 1, &value};
    VkSubmitInfo submit{VK_STRUCTURE_TYPE_SUBMIT_INFO, &timeline};
    submit.commandBufferCount = 1;
    submit.pCommandBuffers = &commands;
    submit.signalSemaphoreCount = 1;
    submit.pSignalSemaphores = semaphore.address();
    check(vkQueueSubmit(context().queue(), 1, &submit, VK_NULL_HANDLE));
    VkSemaphoreWaitInfo wait{VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO};
    wait.semaphoreCount = 1;
    wait.pSemaphores = semaphore.address();
    wait.pValues = &value;
    check(vkWaitSemaphores(context().device(), &wait, UINT64_MAX));
  }
}

}  // namespace
}  // namespace tally::test
