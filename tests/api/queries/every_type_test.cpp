// Query pools and query operation, as the specification's chapter "Queries" describes them for all
// types.
#include "api/queries/every_type.h"
#include "support/counting_allocator.h"

namespace tally::test {
namespace {

constexpr VkQueryResultFlags kWide = VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT;

class QueryPools : public EveryType {
 protected:
  // The numbers of a query, followed by its state.
  std::vector<uint64_t> read(const Queries& queries, uint32_t query) {
    std::vector<uint64_t> data(numbers() + 1);
    check(vkGetQueryPoolResults(context().device(), queries, query, 1, data.size() * 8, data.data(),
                                data.size() * 8, kWide | state_flag()));
    EXPECT_TRUE(is_available(data.back())) << data.back();
    data.pop_back();
    return data;
  }
  // One query around `triangles` triangles.
  void run(const Queries& queries, uint32_t index, VkPipeline pipeline, uint32_t triangles = 1) {
    const RenderTarget target(context());
    context().run([&](VkCommandBuffer commands) {
      target.begin(commands);
      query(commands, queries, index, pipeline, triangles);
      target.end(commands);
    });
  }
};

// --- query pools

TEST_P(QueryPools, a_pool_that_is_null_is_destroyed_without_effect) {
  vkDestroyQueryPool(context().device(), VK_NULL_HANDLE, nullptr);
}

TEST_P(QueryPools, statistics_bits_are_ignored_in_pools_of_other_types) {
  if (which().type == VK_QUERY_TYPE_PIPELINE_STATISTICS) return;
  const Queries queries(context(), which().type, 1, kAllStatistics);
  const Pipeline pipeline = make_triangle();
  context().run([&](VkCommandBuffer commands) { queries.reset(commands); });
  run(queries, 0, pipeline);
  EXPECT_EQ(read(queries, 0), expected());
}

TEST_P(QueryPools, memory_of_the_host_is_the_applications_where_it_gives_callbacks) {
  CountingAllocator allocator;
  const VkAllocationCallbacks callbacks = allocator.callbacks();
  const VkQueryPoolCreateInfo info{
      VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO, nullptr, 0, which().type, 4, which().statistics};
  VkQueryPool pool = VK_NULL_HANDLE;
  check(vkCreateQueryPool(context().device(), &info, &callbacks, &pool));
  vkDestroyQueryPool(context().device(), pool, &callbacks);
  EXPECT_EQ(allocator.alive, 0);
}

// --- reset

TEST_P(QueryPools, a_reset_makes_its_range_unavailable_and_no_other) {
  const Queries queries = make_queries(5);
  const Pipeline pipeline = make_triangle();
  const auto make_all_available = [&] {
    context().run([&](VkCommandBuffer commands) { queries.reset(commands); });
    for (uint32_t i = 0; i < 5; ++i) run(queries, i, pipeline);
  };
  const auto states = [&] {
    std::vector<VkResult> all;
    for (uint32_t i = 0; i < 5; ++i) all.push_back(state_of(queries, i));
    return all;
  };
  const auto expect_middle =
      testing::ElementsAre(VK_SUCCESS, VK_NOT_READY, VK_NOT_READY, VK_NOT_READY, VK_SUCCESS);
  make_all_available();
  EXPECT_THAT(states(), testing::Each(VK_SUCCESS));
  context().run([&](VkCommandBuffer commands) { vkCmdResetQueryPool(commands, queries, 1, 3); });
  EXPECT_THAT(states(), expect_middle);
  make_all_available();
  vkResetQueryPool(context().device(), queries, 1, 3);
  EXPECT_THAT(states(), expect_middle);
}

TEST_P(QueryPools, a_query_is_used_again_after_a_reset_and_begins_at_zero) {
  const Queries queries = make_queries(1);
  const Pipeline pipeline = make_triangle();
  for (uint32_t triangles = 3; triangles > 0; --triangles) {
    if (triangles == 2) {
      vkResetQueryPool(context().device(), queries, 0, 1);
    } else {
      context().run([&](VkCommandBuffer commands) { queries.reset(commands); });
    }
    run(queries, 0, pipeline, triangles);
    EXPECT_EQ(read(queries, 0), expected(triangles));
  }
}

TEST_P(QueryPools, a_query_without_commands_is_available_with_zeros) {
  const Queries queries = make_queries(1);
  context().run([&](VkCommandBuffer commands) {
    queries.reset(commands);
    queries.begin(commands, 0, control_flags());
    queries.end(commands);
  });
  EXPECT_EQ(read(queries, 0), expected(0));
}

// --- begin and end

TEST_P(QueryPools, a_query_becomes_available_when_its_end_has_executed_not_when_it_is_recorded) {
  const Queries queries = make_queries(1);
  const Pipeline pipeline = make_triangle();
  const RenderTarget target(context());
  const VkCommandBuffer commands = context().begin_commands(0);
  queries.reset(commands);
  target.begin(commands);
  query(commands, queries, 0, pipeline);
  target.end(commands);
  check(vkEndCommandBuffer(commands));
  context().run([&](VkCommandBuffer other) { queries.reset(other); });
  EXPECT_EQ(state_of(queries, 0), VK_NOT_READY);
  context().submit_and_wait(commands);
  EXPECT_EQ(state_of(queries, 0), VK_SUCCESS);
}

TEST_P(QueryPools, beginning_is_beginning_with_index_zero) {
  if (!context().has_extension(VK_EXT_TRANSFORM_FEEDBACK_EXTENSION_NAME)) {
    GTEST_SKIP() << "no indexed queries";
  }
  const auto begin = context().function<PFN_vkCmdBeginQueryIndexedEXT>("vkCmdBeginQueryIndexedEXT");
  const auto end = context().function<PFN_vkCmdEndQueryIndexedEXT>("vkCmdEndQueryIndexedEXT");
  const Queries queries = make_queries(2);
  const Pipeline pipeline = make_triangle();
  const RenderTarget target(context());
  context().run([&](VkCommandBuffer commands) {
    queries.reset(commands);
    target.begin(commands);
    begin(commands, queries, 0, control_flags(), 0);
    draw(commands, pipeline, 3);
    queries.end(commands, 0);
    queries.begin(commands, 1, control_flags());
    for (int i = 0; i < 2; ++i) draw(commands, pipeline, 3);
    end(commands, queries, 1, 0);
    target.end(commands);
  });
  EXPECT_EQ(read(queries, 0), expected(1));
  EXPECT_EQ(read(queries, 1), expected(2));
}

TEST_P(QueryPools, a_query_outside_of_render_passes_contains_whole_ones) {
  const Queries queries = make_queries(1);
  const Pipeline pipeline = make_triangle();
  const RenderTarget target(context());
  context().run([&](VkCommandBuffer commands) {
    queries.reset(commands);
    queries.begin(commands, 0, control_flags());
    for (uint32_t pass = 0; pass < 3; ++pass) {
      target.begin(commands);
      draw(commands, pipeline, 3);
      target.end(commands);
    }
    queries.end(commands);
  });
  EXPECT_EQ(read(queries, 0), expected(3));
}

TEST_P(QueryPools, queries_count_in_passes_of_render_pass_objects) {
  const Queries queries = make_queries(2);
  const RenderTarget target(context());
  GraphicsPipelineInfo info;
  info.render_pass = target.render_pass();
  const Pipeline pipeline = make_triangle(info);
  context().run([&](VkCommandBuffer commands) {
    queries.reset(commands);
    target.begin_render_pass(commands);
    query(commands, queries, 0, pipeline, 2);
    target.end_render_pass(commands);
    queries.begin(commands, 1, control_flags());
    target.begin_render_pass(commands);
    draw(commands, pipeline, 3);
    target.end_render_pass(commands);
    queries.end(commands, 1);
  });
  EXPECT_EQ(read(queries, 0), expected(2));
  EXPECT_EQ(read(queries, 1), expected(1));
}

TEST_P(QueryPools, reset_query_and_copy_keep_their_order_over_command_buffers) {
  const Queries queries = make_queries(1);
  const Pipeline pipeline = make_triangle();
  const RenderTarget target(context());
  const Buffer buffer(context(), 256, VK_BUFFER_USAGE_TRANSFER_DST_BIT);
  std::vector<VkCommandBuffer> all;
  const auto record = [&](auto&& body) {
    all.push_back(context().begin_commands(0));
    body(all.back());
    check(vkEndCommandBuffer(all.back()));
  };
  for (uint32_t round = 0; round < 2; ++round) {
    record([&](VkCommandBuffer commands) { queries.reset(commands); });
    record([&](VkCommandBuffer commands) {
      target.begin(commands);
      query(commands, queries, 0, pipeline, 1 + round);
      target.end(commands);
    });
    record([&](VkCommandBuffer commands) {
      vkCmdCopyQueryPoolResults(commands, queries, 0, 1, buffer, 64 * round, 64,
                                kWide | state_flag());
    });
  }
  record([&](VkCommandBuffer commands) {
    full_barrier(commands);
    queries.reset(commands);  // after the copies
  });
  context().submit_and_wait(all);
  for (uint32_t round = 0; round < 2; ++round) {
    const auto copied = buffer.as<uint64_t>().subspan(8 * round);
    EXPECT_THAT(copied.first(numbers()), testing::ElementsAreArray(expected(1 + round)));
    EXPECT_TRUE(is_available(copied[numbers()])) << copied[numbers()];
  }
  EXPECT_EQ(state_of(queries, 0), VK_NOT_READY);
}

// --- multiview

TEST_P(QueryPools, queries_of_all_views_sum_up_to_the_whole) {
  if (!emulated() && driver_name() == "lavapipe") {
    GTEST_SKIP() << "lavapipe 22.3 makes one query available, not one a view";
  }
  const RenderTarget target(context(), {.view_mask = 5});
  GraphicsPipelineInfo views;
  views.view_mask = 5;
  const Pipeline pipeline = make_triangle(views);
  const Queries queries = make_queries(4);
  context().run([&](VkCommandBuffer commands) {
    queries.reset(commands);
    target.begin(commands);
    query(commands, queries, 1, pipeline);
    target.end(commands);
  });
  EXPECT_EQ(state_of(queries, 0), VK_NOT_READY);
  EXPECT_EQ(state_of(queries, 1), VK_SUCCESS);
  EXPECT_EQ(state_of(queries, 2), VK_SUCCESS) << "as many queries as views";
  EXPECT_EQ(state_of(queries, 3), VK_NOT_READY);
  if (which().type != VK_QUERY_TYPE_OCCLUSION) return;  // other types need not count each view
  EXPECT_EQ(read(queries, 1)[0] + read(queries, 2)[0], expected(2)[0]);
}

// --- results

TEST_P(QueryPools, results_of_an_available_query_are_final) {
  const Queries queries = make_queries(2);
  const Pipeline pipeline = make_triangle();
  context().run([&](VkCommandBuffer commands) { queries.reset(commands); });
  run(queries, 0, pipeline);
  const auto first = read(queries, 0);
  run(queries, 1, pipeline, 7);
  EXPECT_EQ(read(queries, 0), first);
  EXPECT_EQ(first, expected());
}

TEST_P(QueryPools, copies_have_the_layout_that_the_host_reads) {
  const Queries queries = make_queries(3);
  const Pipeline pipeline = make_triangle();
  context().run([&](VkCommandBuffer commands) { queries.reset(commands); });
  for (uint32_t i = 0; i < 3; ++i) run(queries, i, pipeline, 1 + i);
  constexpr VkDeviceSize kOffset = 24, kBytes = 256;
  const Buffer buffer(context(), kOffset + kBytes, VK_BUFFER_USAGE_TRANSFER_DST_BIT);
  for (const bool wide : {false, true}) {
    for (const bool state : {false, true}) {
      if (!state && numbers() == 0) continue;
      const VkQueryResultFlags flags = VK_QUERY_RESULT_WAIT_BIT |
                                       (wide ? VK_QUERY_RESULT_64_BIT : 0) |
                                       (state ? state_flag() : 0);
      const VkDeviceSize word = wide ? 8 : 4;
      const VkDeviceSize least = word * (numbers() + (state ? 1 : 0));
      for (const VkDeviceSize stride : {least, least + word, least + 3 * word}) {
        std::vector<std::byte> host(kBytes, std::byte{0xcd});
        check(vkGetQueryPoolResults(context().device(), queries, 0, 3, host.size(), host.data(),
                                    stride, flags));
        const auto copied = buffer.as<std::byte>();
        std::ranges::fill(copied, std::byte{0xcd});
        context().run([&](VkCommandBuffer commands) {
          vkCmdCopyQueryPoolResults(commands, queries, 0, 3, buffer, kOffset, stride, flags);
          full_barrier(commands);
        });
        EXPECT_THAT(copied.subspan(kOffset), testing::ElementsAreArray(host))
            << "wide " << wide << ", state " << state << ", stride " << stride;
        EXPECT_THAT(copied.first(kOffset), testing::Each(std::byte{0xcd}));
        EXPECT_EQ(host[2 * stride + least], std::byte{0xcd}) << "nothing behind the last result";
      }
    }
  }
}

TEST_P(QueryPools, a_copy_is_a_transfer_and_is_waited_for_as_one) {
  const Queries queries = make_queries(1);
  const Pipeline pipeline = make_triangle();
  context().run([&](VkCommandBuffer commands) { queries.reset(commands); });
  run(queries, 0, pipeline);
  const size_t bytes = 8 * (numbers() + 1);
  const Buffer first(context(), bytes,
                     VK_BUFFER_USAGE_TRANSFER_DST_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT);
  const Buffer second(context(), bytes, VK_BUFFER_USAGE_TRANSFER_DST_BIT);
  context().run([&](VkCommandBuffer commands) {
    vkCmdCopyQueryPoolResults(commands, queries, 0, 1, first, 0, bytes, kWide | state_flag());
    const VkMemoryBarrier transfer{VK_STRUCTURE_TYPE_MEMORY_BARRIER, nullptr,
                                   VK_ACCESS_TRANSFER_WRITE_BIT, VK_ACCESS_TRANSFER_READ_BIT};
    vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_PIPELINE_STAGE_TRANSFER_BIT,
                         0, 1, &transfer, 0, nullptr, 0, nullptr);
    const VkBufferCopy all{0, 0, bytes};
    vkCmdCopyBuffer(commands, first, second, 1, &all);
    full_barrier(commands);
  });
  const auto copied = second.as<uint64_t>();
  EXPECT_THAT(copied.first(numbers()), testing::ElementsAreArray(expected()));
  EXPECT_TRUE(is_available(copied[numbers()])) << copied[numbers()];
}

TEST_P(QueryPools, unavailable_queries_are_said_to_be_so_and_partial_results_lie_between) {
  const Queries queries = make_queries(2);
  const Pipeline pipeline = make_triangle();
  context().run([&](VkCommandBuffer commands) { queries.reset(commands); });
  run(queries, 1, pipeline);
  const size_t words = numbers() + 1;
  std::vector<uint64_t> data(2 * words, 0xabab);
  const VkResult result = vkGetQueryPoolResults(
      context().device(), queries, 0, 2, data.size() * 8, data.data(), words * 8,
      VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_PARTIAL_BIT | state_flag());
  EXPECT_TRUE(result == VK_NOT_READY || result == VK_SUCCESS) << result;
  // lavapipe returns the previous memory contents for an unavailable query.
  const bool defined = emulated() || !driver_name().starts_with("lavapipe");
  for (size_t i = 0; i < numbers(); ++i) {
    if (defined) {
      EXPECT_LE(data[i], expected()[i]);
    }
    EXPECT_EQ(data[words + i], expected()[i]);
  }
  EXPECT_EQ(data[words - 1], 0u);
  EXPECT_TRUE(is_available(data[2 * words - 1]));
}

TALLY_EVERY_TYPE(QueryPools);

}  // namespace
}  // namespace tally::test
