// Pipelines that threads of the layer compile while the application goes on.
#include <atomic>
#include <mutex>
#include <thread>

#include "api/kit.h"

namespace tally::test {
namespace {

using testing::ElementsAre;
using Pair = std::pair<uint32_t, uint64_t>;

class CompiledAhead : public CountersTest {
 protected:
  void SetUp() override { start({{"compile_ahead", "always"}}); }

  Pipeline make(VkPipelineCache cache) {
    ComputePipelineInfo info;
    info.layout = work().layout;
    info.shader = {VK_SHADER_STAGE_COMPUTE_BIT, work_shader()};
    info.cache = cache;
    info.next = &kInstrument;
    return make_compute_pipeline(context(), info);
  }
};

TEST_F(CompiledAhead, count_exactly_also_when_there_are_more_than_threads) {
  std::vector<Pipeline> pipelines;
  for (int i = 0; i < 12; ++i) pipelines.push_back(make_work(work().layout));
  for (const Pipeline& pipeline : pipelines) {
    EXPECT_THAT(measure(pipeline), ElementsAre(Pair(0, 16)));
  }
}

TEST_F(CompiledAhead, run_uncounted_where_nothing_is_counted) {
  const Pipeline pipeline = make_work(work().layout);
  context().run([&](VkCommandBuffer commands) { dispatch(commands, pipeline, 2); });
  EXPECT_THAT(measure(pipeline), ElementsAre(Pair(0, 16)));
}

TEST_F(CompiledAhead, may_be_destroyed_at_once) {
  for (int i = 0; i < 20; ++i) make_work(work().layout);
}

TEST_F(CompiledAhead, may_be_made_from_objects_that_are_destroyed_at_once) {
  std::vector<Pipeline> pipelines;
  for (int i = 0; i < 6; ++i) {
    const VkDescriptorSetLayout set = work().set.layout();
    const PipelineLayout layout = make_pipeline_layout(context(), {&set, 1}, sizeof(uint32_t));
    pipelines.push_back(make_work(layout));
  }
  for (const Pipeline& pipeline : pipelines) {
    EXPECT_THAT(measure(pipeline), ElementsAre(Pair(0, 16)));
  }
}

TEST_F(CompiledAhead, are_in_the_cache_when_it_is_read_merged_or_destroyed) {
  for (int i = 0; i < 4; ++i) {
    const PipelineCache cache = make_cache();
    const Pipeline pipeline = make(cache);
    size_t size = 0, again = 0;
    ASSERT_EQ(vkGetPipelineCacheData(context().device(), cache, &size, nullptr), VK_SUCCESS);
    EXPECT_THAT(measure(pipeline), ElementsAre(Pair(0, 16)));
    ASSERT_EQ(vkGetPipelineCacheData(context().device(), cache, &again, nullptr), VK_SUCCESS);
    EXPECT_EQ(size, again) << "something was compiled after the cache was read";
    const PipelineCache other = make_cache();
    const VkPipelineCache source = cache;
    const Pipeline further = make(other);
    EXPECT_EQ(vkMergePipelineCaches(context().device(), other, 1, &source), VK_SUCCESS);
  }
}

TEST_F(CompiledAhead, may_have_a_cache_that_the_application_synchronizes) {
  const PipelineCache cache = make_cache(VK_PIPELINE_CACHE_CREATE_EXTERNALLY_SYNCHRONIZED_BIT);
  std::vector<Pipeline> pipelines;
  for (int i = 0; i < 6; ++i) pipelines.push_back(make(cache));
  for (const Pipeline& pipeline : pipelines) {
    EXPECT_THAT(measure(pipeline), ElementsAre(Pair(0, 16)));
  }
}

TEST_F(CompiledAhead, are_made_and_recorded_by_several_threads) {
  work();
  std::mutex queue;
  std::atomic<int> exact = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 6; ++i) {
        const Pipeline pipeline = make_work(work().layout);
        const Instrumentation instrumentation(context());
        const Recording recording(context());
        instrumentation.begin(recording.commands);
        dispatch(recording.commands, pipeline, 2);
        instrumentation.end(recording.commands);
        check(vkEndCommandBuffer(recording.commands));
        const std::lock_guard lock(queue);
        context().submit_and_wait(recording.commands);
        if (invocations(instrumentation) == std::vector{Pair(0, 16)}) ++exact;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(exact, 24);
}

}  // namespace
}  // namespace tally::test
