// Extensions newer than the drivers, which change how instrumented pipelines are created or
// submitted.
#include <tally/vulkan_newest.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

#include "api/kit.h"
#include "full_screen.vert.h"
#include "orange.frag.h"
#include "stand_in/newest/driver.h"
#include "support/environment.h"

namespace tally::test {
namespace {

using testing::ElementsAre;

constexpr const char* kNewestDriver = "VK_LAYER_TALLY_test_newest_driver";

class NewestExtensions : public CountersTest {
 protected:
  void SetUp() override {
    if (validation_wanted()) GTEST_SKIP() << "not with the validation layer below";
  }
  void start_with(const char* extension, void* feature, VkDeviceQueueCreateFlags queue_flags = 0,
                  const LayerSettings::Pairs& settings = {}) {
    start(settings, {.driver_layers = {kNewestDriver},
                     .device_extensions = {extension},
                     .device_next = feature,
                     .queue_flags = queue_flags});
  }
  newest::PipelineCounts created() {
    return function<newest::GetPipelineCounts>(newest::kPipelineCounts)(context().device());
  }
  // Submits on one queue from four threads at a time. Each thread has its own results.
  void submit_from_threads() {
    constexpr uint32_t kThreads = 4, kSubmissions = 25;
    work();
    // One thread makes these: Debian 12's loader is not safe for threads that ask it for a function
    // of a physical device that it does not know, as Instrumentation does.
    std::vector<std::unique_ptr<Instrumentation>> instrumentations;
    std::vector<std::unique_ptr<Recording>> recordings;
    for (uint32_t t = 0; t < kThreads; ++t) {
      instrumentations.push_back(std::make_unique<Instrumentation>(context()));
      recordings.push_back(std::make_unique<Recording>(context()));
      const VkCommandBuffer commands = recordings[t]->commands;
      instrumentations[t]->begin(commands);
      dispatch(commands, work().counting, t + 1, 0);
      instrumentations[t]->end(commands);
      check(vkEndCommandBuffer(commands));
    }
    std::vector<std::thread> threads;
    std::vector<uint64_t> counted(kThreads);
    for (uint32_t t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        for (uint32_t i = 0; i < kSubmissions; ++i)
          context().submit_and_wait(recordings[t]->commands);
        for (const auto& [index, invoked] : invocations(*instrumentations[t]))
          counted[t] += invoked;
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_THAT(counted, ElementsAre(8 * kSubmissions, 16 * kSubmissions, 24 * kSubmissions,
                                     32 * kSubmissions));
  }
};

TEST_F(NewestExtensions, four_threads_may_submit_on_a_queue_that_synchronizes_itself) {
  VkPhysicalDeviceInternallySynchronizedQueuesFeaturesKHR feature{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_INTERNALLY_SYNCHRONIZED_QUEUES_FEATURES_KHR, nullptr,
      VK_TRUE};
  for (const char* memory : {"host", "device"}) {
    start_with(VK_KHR_INTERNALLY_SYNCHRONIZED_QUEUES_EXTENSION_NAME, &feature,
               VK_DEVICE_QUEUE_CREATE_INTERNALLY_SYNCHRONIZED_BIT_KHR, {{"record_memory", memory}});
    submit_from_threads();
  }
}

// The same on the driver's own queue.
TEST_F(NewestExtensions, four_threads_may_submit_on_a_queue_of_the_driver_that_does) {
  if (!start().has_extension(VK_KHR_INTERNALLY_SYNCHRONIZED_QUEUES_EXTENSION_NAME)) {
    GTEST_SKIP() << "no queues that synchronize themselves";
  }
  VkPhysicalDeviceInternallySynchronizedQueuesFeaturesKHR feature{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_INTERNALLY_SYNCHRONIZED_QUEUES_FEATURES_KHR, nullptr,
      VK_TRUE};
  start({}, {.device_extensions = {VK_KHR_INTERNALLY_SYNCHRONIZED_QUEUES_EXTENSION_NAME},
             .device_next = &feature,
             .queue_flags = VK_DEVICE_QUEUE_CREATE_INTERNALLY_SYNCHRONIZED_BIT_KHR});
  submit_from_threads();
}

TEST_F(NewestExtensions, fragment_shaders_of_a_custom_resolve_count) {
  VkPhysicalDeviceCustomResolveFeaturesEXT feature{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_CUSTOM_RESOLVE_FEATURES_EXT, nullptr, VK_TRUE};
  start_with(VK_EXT_CUSTOM_RESOLVE_EXTENSION_NAME, &feature);
  const PipelineLayout layout = make_pipeline_layout(context());
  const Pipeline scene = make_orange(layout);
  const VkFormat format = VK_FORMAT_R8G8B8A8_UNORM;
  const VkCustomResolveCreateInfoEXT info{VK_STRUCTURE_TYPE_CUSTOM_RESOLVE_CREATE_INFO_EXT,
                                          &kInstrument, VK_TRUE, 1, &format};
  const Pipeline resolve =
      make_graphics_pipeline(context(), {.stages = {{VK_SHADER_STAGE_VERTEX_BIT, full_screen_vert},
                                                    {VK_SHADER_STAGE_FRAGMENT_BIT, orange_frag}},
                                         .layout = layout,
                                         .next = &info});
  const RenderTarget target(context());
  const Instrumentation instrumentation(context());
  const VkBeginCustomResolveInfoEXT begin{VK_STRUCTURE_TYPE_BEGIN_CUSTOM_RESOLVE_INFO_EXT};
  instrumentation.run([&](VkCommandBuffer commands) {
    target.begin(commands);
    vkCmdBindPipeline(commands, kGraphics, scene);
    vkCmdDraw(commands, 3, 1, 0, 0);
    function<PFN_vkCmdBeginCustomResolveEXT>("vkCmdBeginCustomResolveEXT")(commands, &begin);
    vkCmdBindPipeline(commands, kGraphics, resolve);
    vkCmdDraw(commands, 3, 1, 0, 0);
    target.end(commands);
  });
  const Results all = results(instrumentation);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].second.back(), 64u * 64u);
  EXPECT_EQ(all[1].second.back(), 64u * 64u);
}

TEST_F(NewestExtensions, variants_index_with_64_bits_where_their_pipeline_does) {
  VkPhysicalDeviceShader64BitIndexingFeaturesEXT feature{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_64_BIT_INDEXING_FEATURES_EXT, nullptr, VK_TRUE};
  start_with(VK_EXT_SHADER_64BIT_INDEXING_EXTENSION_NAME, &feature);
  const PipelineLayout& layout = work().layout;
  const newest::PipelineCounts before = created();
  const VkPipelineCreateFlags2CreateInfoKHR flags{
      VK_STRUCTURE_TYPE_PIPELINE_CREATE_FLAGS_2_CREATE_INFO_KHR, nullptr,
      VK_PIPELINE_CREATE_2_INSTRUMENT_SHADERS_BIT_ARM |
          VK_PIPELINE_CREATE_2_64_BIT_INDEXING_BIT_EXT};
  const Pipeline pipeline = make_work(layout, &flags);
  EXPECT_THAT(measure(pipeline), ElementsAre(std::pair<uint32_t, uint64_t>(0, 16)));
  context().run([&](VkCommandBuffer commands) { dispatch(commands, pipeline, 2); });
  // Ahead, as on GPUs, the layer also tries a cache first, and still compiles what `work` has.
  if (std::getenv("TALLY_COMPILE_AHEAD") ||
      context().properties().deviceType != VK_PHYSICAL_DEVICE_TYPE_CPU) {
    EXPECT_GE(created().wide, before.wide + 2);
    return;
  }
  EXPECT_EQ(created().plain, before.plain);
  EXPECT_EQ(created().wide, before.wide + 2) << "the pipeline and its variant";
}

class UnknownStructs : public NewestExtensions {
 protected:
  void SetUp() override {
    NewestExtensions::SetUp();
    if (!IsSkipped()) start({}, {.driver_layers = {kNewestDriver}});
  }
  static newest::UnknownStruct unknown(const void* next) {
    newest::UnknownStruct made{.next = next};
    made.words.fill(newest::UnknownStruct::kWord);
    return made;
  }
};

TEST_F(UnknownStructs, reach_the_driver_whole_with_each_variant) {
  const PipelineLayout& layout = work().layout;
  const uint32_t before = created().unknown;
  Pipeline pipeline;
  {
    auto last = unknown(nullptr);
    auto flags = kInstrument;
    flags.pNext = &last;
    pipeline = make_work(layout, &flags);
    last.words.fill(0);
  }
  EXPECT_THAT(measure(pipeline), ElementsAre(std::pair<uint32_t, uint64_t>(0, 16)));
  EXPECT_GE(created().unknown, before + 2) << "the pipeline and its variant";
}

TEST_F(UnknownStructs, are_left_out_and_named_where_a_struct_behind_them_has_to_change) {
  const PipelineLayout& layout = work().layout;
  const uint32_t before = created().unknown;
  const auto first = unknown(&kInstrument);
  testing::internal::CaptureStderr();
  const Pipeline pipeline = make_work(layout, &first);
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              testing::HasSubstr("omits a struct of the unknown type 1999999000"));
  EXPECT_THAT(measure(pipeline), ElementsAre(std::pair<uint32_t, uint64_t>(0, 16)));
  EXPECT_EQ(created().unknown, before);
}

}  // namespace
}  // namespace tally::test
