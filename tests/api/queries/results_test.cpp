// How results are read: by the host and on the GPU, in all layouts.
#include <array>
#include <thread>

#include "api/queries/scenes.h"

namespace tally::test {
namespace {

constexpr uint32_t kUntouched = 0xabababab;

class QueryResults : public QueriesTest {
 protected:
  // A pool of three queries: the first counts 8 invocations, the second is never begun, the third
  // counts 24.
  Queries make_three() {
    Queries queries(context(), kStatistics, 3, kInvocations);
    const Pipeline pipeline = make_work();
    context().run([&](VkCommandBuffer commands) {
      queries.reset(commands);
      queries.begin(commands, 0);
      dispatch(commands, pipeline, 1);
      queries.end(commands, 0);
      queries.begin(commands, 2);
      dispatch(commands, pipeline, 3);
      queries.end(commands, 2);
    });
    return queries;
  }

  template <typename Word>
  std::vector<Word> on_host(const Queries& queries, size_t stride_words, VkQueryResultFlags flags) {
    std::vector<Word> words(3 * stride_words, static_cast<Word>(kUntouched));
    vkGetQueryPoolResults(context().device(), queries, 0, 3, words.size() * sizeof(Word),
                          words.data(), stride_words * sizeof(Word), flags);
    return words;
  }

  template <typename Word>
  std::vector<Word> on_gpu(const Queries& queries, size_t stride_words, VkQueryResultFlags flags,
                           size_t offset_words = 0) {
    const Buffer buffer(context(), (offset_words + 3 * stride_words) * sizeof(Word),
                        VK_BUFFER_USAGE_TRANSFER_DST_BIT);
    const auto words = buffer.as<Word>();
    std::ranges::fill(words, static_cast<Word>(kUntouched));
    context().run([&](VkCommandBuffer commands) {
      vkCmdCopyQueryPoolResults(commands, queries, 0, 3, buffer, offset_words * sizeof(Word),
                                stride_words * sizeof(Word), flags);
      full_barrier(commands);
    });
    return {words.begin() + static_cast<std::ptrdiff_t>(offset_words), words.end()};
  }
};

TEST_F(QueryResults, are_32_bit_unless_64_are_asked_for) {
  start();
  const Queries queries = make_three();
  constexpr VkQueryResultFlags kFlags = VK_QUERY_RESULT_PARTIAL_BIT;
  EXPECT_THAT(on_host<uint32_t>(queries, 1, kFlags), testing::ElementsAre(8, 0, 24));
  EXPECT_THAT(on_gpu<uint32_t>(queries, 1, kFlags), testing::ElementsAre(8, 0, 24));
  constexpr VkQueryResultFlags kWide = kFlags | VK_QUERY_RESULT_64_BIT;
  EXPECT_THAT(on_host<uint64_t>(queries, 1, kWide), testing::ElementsAre(8, 0, 24));
  EXPECT_THAT(on_gpu<uint64_t>(queries, 1, kWide), testing::ElementsAre(8, 0, 24));
}

TEST_F(QueryResults, keep_to_the_stride) {
  start();
  const Queries queries = make_three();
  constexpr VkQueryResultFlags kFlags = VK_QUERY_RESULT_PARTIAL_BIT;
  const auto expected = testing::ElementsAre(8, kUntouched, kUntouched, 0, kUntouched, kUntouched,
                                             24, kUntouched, kUntouched);
  EXPECT_THAT(on_host<uint32_t>(queries, 3, kFlags), expected);
  EXPECT_THAT(on_gpu<uint32_t>(queries, 3, kFlags, 5), expected);
}

TEST_F(QueryResults, of_one_query_need_no_stride) {
  start();
  const Queries queries = make_three();
  uint64_t number = 0;
  EXPECT_EQ(vkGetQueryPoolResults(context().device(), queries, 2, 1, sizeof number, &number, 0,
                                  VK_QUERY_RESULT_64_BIT),
            VK_SUCCESS);
  EXPECT_EQ(number, 24u);
  const Buffer buffer(context(), sizeof number, VK_BUFFER_USAGE_TRANSFER_DST_BIT);
  context().run([&](VkCommandBuffer commands) {
    vkCmdCopyQueryPoolResults(commands, queries, 2, 1, buffer, 0, 0, VK_QUERY_RESULT_64_BIT);
    full_barrier(commands);
  });
  EXPECT_EQ(buffer.as<uint64_t>()[0], 24u);
}

TEST_F(QueryResults, come_with_their_availability) {
  start();
  const Queries queries = make_three();
  constexpr VkQueryResultFlags kFlags =
      VK_QUERY_RESULT_PARTIAL_BIT | VK_QUERY_RESULT_WITH_AVAILABILITY_BIT;
  EXPECT_THAT(on_host<uint32_t>(queries, 2, kFlags), testing::ElementsAre(8, 1, 0, 0, 24, 1));
  EXPECT_THAT(on_gpu<uint32_t>(queries, 2, kFlags), testing::ElementsAre(8, 1, 0, 0, 24, 1));
  constexpr VkQueryResultFlags kWide = kFlags | VK_QUERY_RESULT_64_BIT;
  EXPECT_THAT(on_host<uint64_t>(queries, 2, kWide), testing::ElementsAre(8, 1, 0, 0, 24, 1));
  EXPECT_THAT(on_gpu<uint64_t>(queries, 2, kWide), testing::ElementsAre(8, 1, 0, 0, 24, 1));
}

TEST_F(QueryResults, of_an_unavailable_query_are_not_ready) {
  start();
  const Queries queries = make_three();
  std::array<uint64_t, 3> numbers{};
  EXPECT_EQ(vkGetQueryPoolResults(context().device(), queries, 0, 3, sizeof numbers, numbers.data(),
                                  8, VK_QUERY_RESULT_64_BIT),
            VK_NOT_READY);
  EXPECT_EQ(numbers[0], 8u);
  EXPECT_EQ(numbers[2], 24u);
}

TEST_F(QueryResults, are_copied_in_the_order_of_the_gpu) {
  start();
  const Pipeline pipeline = make_work();
  const Queries queries(context(), kStatistics, 1, kInvocations);
  const Buffer buffer(context(), 16, VK_BUFFER_USAGE_TRANSFER_DST_BIT);
  constexpr VkQueryResultFlags kFlags = VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT;
  context().run([&](VkCommandBuffer commands) {
    for (uint32_t i = 0; i < 2; ++i) {
      queries.reset(commands);
      queries.begin(commands);
      dispatch(commands, pipeline, 1 + i);
      queries.end(commands);
      vkCmdCopyQueryPoolResults(commands, queries, 0, 1, buffer, 8 * i, 8, kFlags);
    }
    full_barrier(commands);
  });
  EXPECT_THAT(buffer.as<uint64_t>(), testing::ElementsAre(8, 16));
}

TEST_F(QueryResults, are_waited_for_by_other_threads) {
  start();
  const Pipeline pipeline = make_work();
  const Queries queries(context(), kStatistics, 1, kInvocations);
  vkResetQueryPool(context().device(), queries, 0, 1);
  std::vector<std::thread> threads;
  std::array<uint64_t, 4> seen{};
  for (uint64_t& number : seen) {
    threads.emplace_back([&] { number = queries.read()[0]; });
  }
  context().run([&](VkCommandBuffer commands) {
    queries.begin(commands);
    dispatch(commands, pipeline, 2);
    queries.end(commands);
  });
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(seen, testing::Each(16u));
}

TEST_F(QueryResults, of_a_million_queries_are_read_and_copied) {
  start();
  constexpr uint32_t kCount = 1'000'000;
  const Pipeline pipeline = make_work();
  const Queries queries(context(), kStatistics, kCount, kInvocations);
  const Buffer buffer(context(), VkDeviceSize{kCount} * 4, VK_BUFFER_USAGE_TRANSFER_DST_BIT);
  context().run([&](VkCommandBuffer commands) {
    queries.reset(commands);
    queries.begin(commands, kCount - 1);
    dispatch(commands, pipeline, 1);
    queries.end(commands, kCount - 1);
    vkCmdCopyQueryPoolResults(commands, queries, 0, kCount, buffer, 0, 4,
                              VK_QUERY_RESULT_PARTIAL_BIT);
    full_barrier(commands);
  });
  std::vector<uint32_t> numbers(kCount);
  EXPECT_EQ(vkGetQueryPoolResults(context().device(), queries, 0, kCount, kCount * 4,
                                  numbers.data(), 4, VK_QUERY_RESULT_PARTIAL_BIT),
            VK_NOT_READY);
  EXPECT_EQ(numbers.back(), 8u);
  EXPECT_EQ(buffer.as<uint32_t>().back(), 8u);
  EXPECT_TRUE(std::ranges::all_of(buffer.as<uint32_t>().first(kCount - 1),
                                  [](uint32_t number) { return number == 0; }));
}

}  // namespace
}  // namespace tally::test
