// Result status queries, and the status after the results of other queries.
#include <array>

#include "api/queries/scenes.h"
#include "full_screen.vert.h"
#include "plain.frag.h"
#include "pushed.frag.h"

namespace tally::test {
namespace {

class ResultStatus : public QueryTypes {
 protected:
  int32_t status(const Queries& queries) {
    int32_t value = 77;
    check(vkGetQueryPoolResults(context().device(), queries, 0, 1, sizeof value, &value,
                                sizeof value, VK_QUERY_RESULT_WITH_STATUS_BIT_KHR));
    return value;
  }
};

TEST_F(ResultStatus, is_supported_by_every_family) {
  start();
  uint32_t count = 0;
  vkGetPhysicalDeviceQueueFamilyProperties2(context().gpu(), &count, nullptr);
  std::vector<VkQueueFamilyQueryResultStatusPropertiesKHR> status(
      count, {VK_STRUCTURE_TYPE_QUEUE_FAMILY_QUERY_RESULT_STATUS_PROPERTIES_KHR});
  std::vector<VkQueueFamilyProperties2> families;
  for (auto& one : status) {
    families.push_back({VK_STRUCTURE_TYPE_QUEUE_FAMILY_PROPERTIES_2, &one});
  }
  vkGetPhysicalDeviceQueueFamilyProperties2(context().gpu(), &count, families.data());
  for (const auto& one : status) EXPECT_TRUE(one.queryResultStatusSupport);
}

TEST_F(ResultStatus, of_work_that_ran_is_complete) {
  start();
  const Queries queries(context(), VK_QUERY_TYPE_RESULT_STATUS_ONLY_KHR);
  const Pipeline pipeline = make_work();
  context().run([&](VkCommandBuffer commands) { queries.reset(commands); });
  int32_t value = 77;
  EXPECT_EQ(vkGetQueryPoolResults(context().device(), queries, 0, 1, sizeof value, &value,
                                  sizeof value, VK_QUERY_RESULT_WITH_STATUS_BIT_KHR),
            VK_NOT_READY);
  EXPECT_EQ(value, VK_QUERY_RESULT_STATUS_NOT_READY_KHR);
  context().run([&](VkCommandBuffer commands) {
    queries.begin(commands);
    dispatch(commands, pipeline, 1);
    queries.end(commands);
  });
  EXPECT_EQ(status(queries), VK_QUERY_RESULT_STATUS_COMPLETE_KHR);
}

// A device with a queue of every family that supports queries.
class EveryFamily {
 public:
  EveryFamily(VkPhysicalDevice gpu);
  ~EveryFamily() { vkDestroyDevice(device_, nullptr); }
  EveryFamily(const EveryFamily&) = delete;
  EveryFamily& operator=(const EveryFamily&) = delete;
  VkDevice device() const { return device_; }
  const std::vector<uint32_t>& families() const { return families_; }
  // Records, submits and waits.
  template <typename Record>
  void run(uint32_t family, Record&& record) const {
    const VkCommandPoolCreateInfo pool_info{VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO, nullptr, 0,
                                            family};
    VkCommandPool pool = VK_NULL_HANDLE;
    check(vkCreateCommandPool(device_, &pool_info, nullptr, &pool));
    const VkCommandBufferAllocateInfo allocation{VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                                 nullptr, pool, VK_COMMAND_BUFFER_LEVEL_PRIMARY, 1};
    VkCommandBuffer commands = VK_NULL_HANDLE;
    check(vkAllocateCommandBuffers(device_, &allocation, &commands));
    const VkCommandBufferBeginInfo begin{VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    check(vkBeginCommandBuffer(commands, &begin));
    record(commands);
    check(vkEndCommandBuffer(commands));
    VkQueue queue = VK_NULL_HANDLE;
    vkGetDeviceQueue(device_, family, 0, &queue);
    const VkSubmitInfo submit{
        VK_STRUCTURE_TYPE_SUBMIT_INFO, nullptr, 0, nullptr, nullptr, 1, &commands};
    check(vkQueueSubmit(queue, 1, &submit, VK_NULL_HANDLE));
    check(vkQueueWaitIdle(queue));
    vkDestroyCommandPool(device_, pool, nullptr);
  }

 private:
  VkDevice device_ = VK_NULL_HANDLE;
  std::vector<uint32_t> families_;
};

EveryFamily::EveryFamily(VkPhysicalDevice gpu) {
  constexpr VkQueueFlags kRecordsQueries = VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT;
  uint32_t count = 0;
  vkGetPhysicalDeviceQueueFamilyProperties(gpu, &count, nullptr);
  std::vector<VkQueueFamilyProperties> all(count);
  vkGetPhysicalDeviceQueueFamilyProperties(gpu, &count, all.data());
  const float priority = 1;
  std::vector<VkDeviceQueueCreateInfo> queues;
  for (uint32_t i = 0; i < count; ++i) {
    if ((all[i].queueFlags & kRecordsQueries) == 0) continue;
    families_.push_back(i);
    queues.push_back({VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO, nullptr, 0, i, 1, &priority});
  }
  const VkDeviceCreateInfo info{VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, nullptr, 0,
                                static_cast<uint32_t>(queues.size()), queues.data()};
  check(vkCreateDevice(gpu, &info, nullptr, &device_));
}

TEST_F(ResultStatus, queries_run_on_every_family) {
  start();
  const EveryFamily every(context().gpu());
  ASSERT_FALSE(every.families().empty());
  for (const uint32_t family : every.families()) {
    const VkQueryPoolCreateInfo info{VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO, nullptr, 0,
                                     VK_QUERY_TYPE_RESULT_STATUS_ONLY_KHR,     1,       0};
    VkQueryPool pool = VK_NULL_HANDLE;
    check(vkCreateQueryPool(every.device(), &info, nullptr, &pool));
    every.run(family, [&](VkCommandBuffer commands) {
      vkCmdResetQueryPool(commands, pool, 0, 1);
      vkCmdBeginQuery(commands, pool, 0, 0);
      vkCmdEndQuery(commands, pool, 0);
    });
    int64_t value = 77;
    EXPECT_EQ(vkGetQueryPoolResults(every.device(), pool, 0, 1, sizeof value, &value, 8,
                                    VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WITH_STATUS_BIT_KHR),
              VK_SUCCESS);
    EXPECT_EQ(value, VK_QUERY_RESULT_STATUS_COMPLETE_KHR) << "family " << family;
    vkDestroyQueryPool(every.device(), pool, nullptr);
  }
}

// Results of 32 and 64 bits, read by the host and copied: the value after a query's numbers.
template <typename Word>
struct Ends {
  std::vector<Word> host, copied;
};

class StatusOfOthers : public ResultStatus {
 protected:
  static constexpr uint32_t kNumbers = 2;

  // Statistics queries with two numbers, of a triangle of a pipeline that can or cannot be counted.
  Queries make_queries(bool countable) {
    Queries queries(context(), VK_QUERY_TYPE_PIPELINE_STATISTICS, 2,
                    VK_QUERY_PIPELINE_STATISTIC_INPUT_ASSEMBLY_VERTICES_BIT |
                        VK_QUERY_PIPELINE_STATISTIC_VERTEX_SHADER_INVOCATIONS_BIT);
    // Full push constants and no descriptors leave no space for the address of a record.
    const PipelineLayout full =
        make_pipeline_layout(context(), {}, context().properties().limits.maxPushConstantsSize);
    GraphicsPipelineInfo info;
    info.stages = {{kVertex, full_screen_vert}, {kFragment, plain_frag}};
    info.layout = countable ? layout() : full.get();
    const Pipeline pipeline = make_graphics_pipeline(context(), info);
    const RenderTarget target(context());
    context().run([&](VkCommandBuffer commands) {
      queries.reset(commands);
      target.begin(commands);
      vkCmdBindPipeline(commands, kGraphics, pipeline);
      queries.begin(commands);
      vkCmdDraw(commands, 3, 1, 0, 0);
      queries.end(commands);
      target.end(commands);
    });
    return queries;
  }

  // The values after the numbers of the first query, which has run, and of the second, which has
  // not.
  template <typename Word>
  Ends<Word> ends(const Queries& queries, VkQueryResultFlags flags) {
    if (sizeof(Word) == 8) flags |= VK_QUERY_RESULT_64_BIT;
    constexpr size_t kStride = (kNumbers + 1) * sizeof(Word);
    const Buffer buffer(context(), 2 * kStride, VK_BUFFER_USAGE_TRANSFER_DST_BIT);
    context().run([&](VkCommandBuffer commands) {
      vkCmdCopyQueryPoolResults(commands, queries, 0, 2, buffer, 0, kStride, flags);
      full_barrier(commands);
    });
    std::vector<Word> host(2 * (kNumbers + 1));
    EXPECT_EQ(vkGetQueryPoolResults(context().device(), queries, 0, 2, 2 * kStride, host.data(),
                                    kStride, flags),
              VK_NOT_READY);
    const auto copied = buffer.as<Word>();
    return {{host[kNumbers], host.back()}, {copied[kNumbers], copied.back()}};
  }
};

TEST_F(StatusOfOthers, success_is_positive_failure_negative_and_unavailable_0) {
  start(true, {}, {{"record_address", "push_constant"}});
  for (const bool countable : {true, false}) {
    const Queries queries = make_queries(countable);
    const int wanted =
        countable ? VK_QUERY_RESULT_STATUS_COMPLETE_KHR : VK_QUERY_RESULT_STATUS_ERROR_KHR;
    const auto narrow = ends<int32_t>(queries, VK_QUERY_RESULT_WITH_STATUS_BIT_KHR);
    EXPECT_THAT(narrow.host, testing::ElementsAre(wanted, 0));
    EXPECT_THAT(narrow.copied, testing::ElementsAre(wanted, 0));
    const auto wide = ends<int64_t>(queries, VK_QUERY_RESULT_WITH_STATUS_BIT_KHR);
    EXPECT_THAT(wide.host, testing::ElementsAre(wanted, 0));
    EXPECT_THAT(wide.copied, testing::ElementsAre(wanted, 0));
  }
}

TEST_F(StatusOfOthers, a_failed_query_is_available) {
  start(true, {}, {{"record_address", "push_constant"}});
  const Queries queries = make_queries(false);
  const auto narrow = ends<uint32_t>(queries, VK_QUERY_RESULT_WITH_AVAILABILITY_BIT);
  EXPECT_THAT(narrow.host, testing::ElementsAre(1, 0));
  EXPECT_THAT(narrow.copied, testing::ElementsAre(1, 0));
  const auto wide = ends<uint64_t>(queries, VK_QUERY_RESULT_WITH_AVAILABILITY_BIT);
  EXPECT_THAT(wide.host, testing::ElementsAre(1, 0));
  EXPECT_THAT(wide.copied, testing::ElementsAre(1, 0));
}

TEST_F(ResultStatus, queries_hold_nothing_but_their_status) {
  start();
  const Queries queries(context(), VK_QUERY_TYPE_RESULT_STATUS_ONLY_KHR, 2);
  context().run([&](VkCommandBuffer commands) {
    queries.reset(commands);
    queries.begin(commands, 1);
    queries.end(commands, 1);
  });
  std::array<int32_t, 4> values{77, 77, 77, 77};
  EXPECT_EQ(vkGetQueryPoolResults(context().device(), queries, 0, 2, 8, values.data(), 4,
                                  VK_QUERY_RESULT_WITH_STATUS_BIT_KHR),
            VK_NOT_READY);
  EXPECT_THAT(values, testing::ElementsAre(0, 1, 77, 77));
}

// The same shader, accessing its push constants through a copy of their address. The layer does not
// instrument that.
std::vector<uint32_t> refused_shader() {
  constexpr uint32_t kPushConstant = 9, kVariable = 59, kAccessChain = 65, kCopyObject = 83;
  std::vector<uint32_t> words(std::begin(pushed_frag), std::end(pushed_frag));
  uint32_t type = 0, variable = 0;
  for (size_t i = 5; i < words.size(); i += words[i] >> 16) {
    const uint32_t opcode = words[i] & 0xffff;
    if (opcode == kVariable && words[i + 3] == kPushConstant) {
      type = words[i + 1];
      variable = words[i + 2];
    }
    if (opcode != kAccessChain || words[i + 3] != variable) continue;
    const uint32_t copy = words[3]++;
    words[i + 3] = copy;
    words.insert(words.begin() + static_cast<std::ptrdiff_t>(i),
                 {4u << 16 | kCopyObject, type, copy, variable});
    return words;
  }
  return {};
}

TEST_F(StatusOfOthers, of_a_pipeline_with_a_stage_that_is_not_counted_fails_where_it_matters) {
  start();
  const Pipeline pipeline =
      make_graphics({{kVertex, full_screen_vert}, {kFragment, refused_shader()}});
  const RenderTarget target(context());
  constexpr auto kStatistics = VK_QUERY_TYPE_PIPELINE_STATISTICS;
  const Queries vertices(context(), kStatistics, 1,
                         VK_QUERY_PIPELINE_STATISTIC_VERTEX_SHADER_INVOCATIONS_BIT |
                             VK_QUERY_PIPELINE_STATISTIC_CLIPPING_INVOCATIONS_BIT);
  const Queries fragments(context(), kStatistics, 1,
                          VK_QUERY_PIPELINE_STATISTIC_FRAGMENT_SHADER_INVOCATIONS_BIT);
  const Queries samples(context(), VK_QUERY_TYPE_OCCLUSION);
  const auto status_of = [&](const Queries& queries) {
    context().run([&](VkCommandBuffer commands) {
      queries.reset(commands);
      target.begin(commands);
      queries.begin(commands);
      draw(commands, pipeline, 3);
      queries.end(commands);
      target.end(commands);
    });
    std::array<int64_t, 3> values{};
    const bool two = &queries == &vertices;
    check(vkGetQueryPoolResults(context().device(), queries, 0, 1, sizeof values, values.data(),
                                sizeof values,
                                VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WITH_STATUS_BIT_KHR));
    return two ? values[2] : values[1];
  };
  EXPECT_EQ(status_of(vertices), VK_QUERY_RESULT_STATUS_COMPLETE_KHR);
  EXPECT_EQ(status_of(fragments), VK_QUERY_RESULT_STATUS_ERROR_KHR);
  EXPECT_EQ(status_of(samples), VK_QUERY_RESULT_STATUS_COMPLETE_KHR) << "the driver counts them";
  EXPECT_EQ(samples.read()[0], 64u * 64);
}

// --- video encode feedback

TEST_F(ResultStatus, of_video_encoders_is_refused_where_there_is_none) {
  if (validation_wanted()) GTEST_SKIP() << "the validation layer would say so";
  start();
  if (context().has_extension("VK_KHR_video_encode_queue")) GTEST_SKIP() << "the driver has it";
  constexpr auto kFeedback = static_cast<VkQueryType>(1000299000);
  const VkQueryPoolCreateInfo info{
      VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO, nullptr, 0, kFeedback, 1, 0};
  VkQueryPool pool = VK_NULL_HANDLE;
  EXPECT_EQ(vkCreateQueryPool(context().device(), &info, nullptr, &pool),
            VK_ERROR_FEATURE_NOT_PRESENT);
  const auto errors = context().take_errors();
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_THAT(errors[0].text, testing::HasSubstr("VK_KHR_video_encode_queue"));
}

}  // namespace
}  // namespace tally::test
