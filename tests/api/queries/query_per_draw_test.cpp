// A query of its own for each draw: the records of consecutive queries are found by the packed draw
// index, which must not change what the application's shaders read as the instance index.
#include <array>
#include <functional>

#include "api/queries/scenes.h"
#include "pixel.vert.h"
#include "plain.frag.h"

namespace tally::test {
namespace {

constexpr uint32_t kPixels = 64 * 64;
constexpr uint32_t kVerticesOfPixel = 6;
// More than one pointer reaches.
constexpr uint32_t kDraws = 3000;

class QueryPerDraw : public QueryTypes {
 protected:
  void SetUp() override {
    start();
    pipeline_ = make_graphics({{kVertex, pixel_vert}, {kFragment, plain_frag}});
    target_.emplace(context());
  }
  void TearDown() override {
    target_.reset();
    pipeline_ = {};
  }

  static void draw_pixels(VkCommandBuffer commands, uint32_t first, uint32_t count) {
    vkCmdDraw(commands, kVerticesOfPixel, count, 0, first);
  }
  // A draw in each of the first queries, of count(i) instances from the i-th on.
  template <typename Count>
  static void draw_in_queries(VkCommandBuffer commands, const Queries& queries, uint32_t draws,
                              Count&& count) {
    for (uint32_t i = 0; i < draws; ++i) {
      queries.begin(commands, i, VK_QUERY_CONTROL_PRECISE_BIT);
      draw_pixels(commands, i, count(i));
      queries.end(commands, i);
    }
  }
  template <typename Record>
  void run_in_pass(const Queries& queries, Record&& record) {
    context().run([&](VkCommandBuffer commands) {
      queries.reset(commands);
      target_->begin(commands);
      vkCmdBindPipeline(commands, kGraphics, pipeline_);
      record(commands);
      target_->end(commands);
    });
  }

  // Runs the check while the pipelines find records without packed draw indices, and again after
  // many queries around single draws.
  template <typename Check>
  void check_both_ways(std::initializer_list<const Pipeline*> pipelines, Check&& check) {
    check();
    constexpr uint32_t kMany = 40;
    const Queries many(context(), VK_QUERY_TYPE_OCCLUSION, kMany);
    for (const Pipeline* pipeline : pipelines) {
      run_in_pass(many, [&](VkCommandBuffer commands) {
        vkCmdBindPipeline(commands, kGraphics, *pipeline);
        draw_in_queries(commands, many, kMany, [](uint32_t) { return 1; });
      });
    }
    SCOPED_TRACE("with packed draw indices");
    check();
  }

  Pipeline pipeline_;
  std::optional<RenderTarget> target_;
};

TEST_F(QueryPerDraw, counts_the_samples_of_its_instances) {
  const Queries samples(context(), VK_QUERY_TYPE_OCCLUSION, kDraws);
  const auto first = [](uint32_t i) { return i * 7 % (kPixels - 3); };
  const auto count = [](uint32_t i) { return 1 + i % 3; };
  run_in_pass(samples, [&](VkCommandBuffer commands) {
    for (uint32_t i = 0; i < kDraws; ++i) {
      samples.begin(commands, i, VK_QUERY_CONTROL_PRECISE_BIT);
      draw_pixels(commands, first(i), count(i));
      samples.end(commands, i);
    }
  });
  for (uint32_t i = 0; i < kDraws; ++i) ASSERT_EQ(samples.read(i)[0], count(i)) << i;
}

TEST_F(QueryPerDraw, goes_on_behind_draws_whose_index_cannot_be_packed) {
  const Queries samples(context(), VK_QUERY_TYPE_OCCLUSION, 5);
  Buffer arguments(context(), 64, VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT);
  const bool first_instance = context().features().drawIndirectFirstInstance == VK_TRUE;
  arguments.as<VkDrawIndirectCommand>()[0] = {kVerticesOfPixel, 5, 0, first_instance ? 9u : 0u};
  const std::array<std::function<void(VkCommandBuffer)>, 5> draws = {
      [](VkCommandBuffer commands) { draw_pixels(commands, 3, 2); },
      [](VkCommandBuffer commands) { draw_pixels(commands, 0x10000, 4); },  // outside the target
      [](VkCommandBuffer commands) {
        draw_pixels(commands, 100, 1);
        draw_pixels(commands, 200, 2);
      },
      [&](VkCommandBuffer commands) { vkCmdDrawIndirect(commands, arguments, 0, 1, 0); },
      [](VkCommandBuffer commands) { draw_pixels(commands, kPixels - 1, 2); }};
  const uint64_t expected[] = {2, 0, 3, 5, 1};
  check_both_ways({&pipeline_}, [&] {
    run_in_pass(samples, [&](VkCommandBuffer commands) {
      for (uint32_t i = 0; i < draws.size(); ++i) {
        samples.begin(commands, i, VK_QUERY_CONTROL_PRECISE_BIT);
        draws[i](commands);
        samples.end(commands, i);
      }
    });
    for (uint32_t i = 0; i < draws.size(); ++i) EXPECT_EQ(samples.read(i)[0], expected[i]) << i;
  });
}

TEST_F(QueryPerDraw, counts_for_a_query_around_all_of_them_too) {
  constexpr uint32_t kOwn = 40;
  const Queries samples(context(), VK_QUERY_TYPE_OCCLUSION, kOwn);
  const Queries statistics(context(), VK_QUERY_TYPE_PIPELINE_STATISTICS, 1,
                           VK_QUERY_PIPELINE_STATISTIC_VERTEX_SHADER_INVOCATIONS_BIT |
                               VK_QUERY_PIPELINE_STATISTIC_FRAGMENT_SHADER_INVOCATIONS_BIT);
  run_in_pass(samples, [&](VkCommandBuffer commands) {
    statistics.begin(commands);
    for (uint32_t i = 0; i < kOwn; ++i) {
      samples.begin(commands, i, VK_QUERY_CONTROL_PRECISE_BIT);
      draw_pixels(commands, 2 * i, 2);
      samples.end(commands, i);
      draw_pixels(commands, 2000 + i, 1);  // in no query of its own
    }
    statistics.end(commands);
  });
  for (uint32_t i = 0; i < kOwn; ++i) EXPECT_EQ(samples.read(i)[0], 2u) << i;
  EXPECT_EQ(statistics.read()[0], uint64_t{kVerticesOfPixel} * 3 * kOwn);
  EXPECT_EQ(statistics.read()[1], 3u * kOwn);
}

// Only equal draws one after the other go the short way: other pipelines, indices that cannot be
// packed and a query of the same number later all need a pointer of their own.
TEST_F(QueryPerDraw, counts_equal_draws_and_those_between_them) {
  const Pipeline other = make_graphics({{kVertex, pixel_vert}, {kFragment, plain_frag}});
  const Queries samples(context(), VK_QUERY_TYPE_OCCLUSION, 2);
  const auto bind = [&](VkCommandBuffer commands, const Pipeline& pipeline) {
    vkCmdBindPipeline(commands, kGraphics, pipeline);
  };
  check_both_ways({&pipeline_, &other}, [&] {
    run_in_pass(samples, [&](VkCommandBuffer commands) {
      for (const uint32_t query : {0u, 1u}) {
        const uint32_t times = query + 1;
        samples.begin(commands, query, VK_QUERY_CONTROL_PRECISE_BIT);
        for (uint32_t i = 0; i < times; ++i) {
          draw_pixels(commands, 0, 1);
          draw_pixels(commands, 1, 1);
          bind(commands, other);
          draw_pixels(commands, 2, 1);
          draw_pixels(commands, 3, 1);
          draw_pixels(commands, 0x10000, 4);  // outside the target
          draw_pixels(commands, 4, 1);
          bind(commands, pipeline_);
          draw_pixels(commands, 5, 1);
          draw_pixels(commands, 6, 1);
        }
        samples.end(commands, query);
        draw_pixels(commands, 7, 1);  // in no query
      }
    });
    EXPECT_EQ(samples.read(0)[0], 7u);
    EXPECT_EQ(samples.read(1)[0], 14u);
  });
}

// The pipeline gets packed draw indices while the command buffer is recorded, and has them from the
// start in the second one.
TEST_F(QueryPerDraw, counts_between_queries_that_contain_many_draws) {
  constexpr uint32_t kOwn = 100;
  constexpr uint32_t kMany = 300;
  const Queries samples(context(), VK_QUERY_TYPE_OCCLUSION, kOwn + 2);
  for (int recording = 0; recording < 2; ++recording) {
    run_in_pass(samples, [&](VkCommandBuffer commands) {
      const auto count_many = [&](uint32_t query) {
        samples.begin(commands, query, VK_QUERY_CONTROL_PRECISE_BIT);
        for (uint32_t i = 0; i < kMany; ++i) draw_pixels(commands, i, 1);
        samples.end(commands, query);
      };
      count_many(kOwn);
      draw_in_queries(commands, samples, kOwn, [](uint32_t i) { return 1 + i % 3; });
      count_many(kOwn + 1);
    });
    for (uint32_t i = 0; i < kOwn; ++i) ASSERT_EQ(samples.read(i)[0], 1 + i % 3) << i;
    EXPECT_EQ(samples.read(kOwn)[0], kMany);
    EXPECT_EQ(samples.read(kOwn + 1)[0], kMany);
  }
}

// Only one of the two pipelines has packed draw indices from the second query on.
TEST_F(QueryPerDraw, counts_draws_of_pipelines_with_and_without_packed_indices) {
  constexpr uint32_t kOwn = 100;
  const Pipeline other = make_graphics({{kVertex, pixel_vert}, {kFragment, plain_frag}});
  const Queries samples(context(), VK_QUERY_TYPE_OCCLUSION, kOwn + 2);
  run_in_pass(samples, [&](VkCommandBuffer commands) {
    const auto count_both = [&](uint32_t query) {
      samples.begin(commands, query, VK_QUERY_CONTROL_PRECISE_BIT);
      for (uint32_t i = 0; i < 5; ++i) {
        vkCmdBindPipeline(commands, kGraphics, other);
        draw_pixels(commands, 1000, 3);
        draw_pixels(commands, 1100, 4);
        vkCmdBindPipeline(commands, kGraphics, pipeline_);
        draw_pixels(commands, 1200, 1);
        draw_pixels(commands, 1300, 2);
      }
      samples.end(commands, query);
    };
    count_both(kOwn);
    draw_in_queries(commands, samples, kOwn, [](uint32_t i) { return 1 + i % 3; });
    count_both(kOwn + 1);
  });
  for (uint32_t i = 0; i < kOwn; ++i) ASSERT_EQ(samples.read(i)[0], 1 + i % 3) << i;
  EXPECT_EQ(samples.read(kOwn)[0], 50u);
  EXPECT_EQ(samples.read(kOwn + 1)[0], 50u);
}

// Each secondary draws in queries of its own, and all of it in the primary's.
TEST_F(QueryPerDraw, counts_in_secondary_command_buffers_and_for_the_primarys_query) {
  constexpr uint32_t kOwn = 50;
  constexpr uint32_t kSecondaries = 3;
  const Queries samples(context(), VK_QUERY_TYPE_OCCLUSION);
  const Queries statistics(context(), VK_QUERY_TYPE_PIPELINE_STATISTICS, kSecondaries * kOwn,
                           VK_QUERY_PIPELINE_STATISTIC_FRAGMENT_SHADER_INVOCATIONS_BIT);
  std::vector<VkCommandBuffer> secondaries;
  for (uint32_t of = 0; of < kSecondaries; ++of) {
    const VkCommandBuffer secondary = begin_secondary(
        *target_, 0, {.occlusionQueryEnable = VK_TRUE, .queryFlags = VK_QUERY_CONTROL_PRECISE_BIT});
    target_->set_viewport(secondary);
    vkCmdBindPipeline(secondary, kGraphics, pipeline_);
    for (uint32_t i = 0; i < kOwn; ++i) {
      statistics.begin(secondary, of * kOwn + i);
      draw_pixels(secondary, i, 1 + of);
      statistics.end(secondary, of * kOwn + i);
      draw_pixels(secondary, 1000 + i, 1);
    }
    ASSERT_EQ(vkEndCommandBuffer(secondary), VK_SUCCESS);
    secondaries.push_back(secondary);
  }
  context().run([&](VkCommandBuffer commands) {
    samples.reset(commands);
    statistics.reset(commands);
    target_->begin(commands, {}, VK_RENDERING_CONTENTS_SECONDARY_COMMAND_BUFFERS_BIT);
    samples.begin(commands, 0, VK_QUERY_CONTROL_PRECISE_BIT);
    vkCmdExecuteCommands(commands, kSecondaries, secondaries.data());
    samples.end(commands);
    target_->end(commands);
  });
  for (uint32_t i = 0; i < kSecondaries * kOwn; ++i) {
    ASSERT_EQ(statistics.read(i)[0], 1 + i / kOwn) << i;
  }
  EXPECT_EQ(samples.read()[0], (1 + 2 + 3 + kSecondaries) * kOwn);
}

TEST_F(QueryPerDraw, counts_again_in_each_submission) {
  constexpr uint32_t kOwn = 10;
  const Queries samples(context(), VK_QUERY_TYPE_OCCLUSION, kOwn);
  const VkCommandBuffer commands = context().begin_commands(0);
  samples.reset(commands);
  target_->begin(commands);
  vkCmdBindPipeline(commands, kGraphics, pipeline_);
  draw_in_queries(commands, samples, kOwn, [](uint32_t i) { return i + 1; });
  target_->end(commands);
  ASSERT_EQ(vkEndCommandBuffer(commands), VK_SUCCESS);
  for (int submission = 0; submission < 3; ++submission) {
    context().submit_and_wait(commands);
    for (uint32_t i = 0; i < kOwn; ++i) EXPECT_EQ(samples.read(i)[0], i + 1) << i;
  }
}

// Between its executions another primary executes the secondary without a query.
TEST_F(QueryPerDraw, of_a_primary_counts_what_a_secondary_draws_in_it_alone) {
  const Queries samples(context(), VK_QUERY_TYPE_OCCLUSION);
  const VkCommandBuffer secondary = begin_secondary(
      *target_, 0, {.occlusionQueryEnable = VK_TRUE, .queryFlags = VK_QUERY_CONTROL_PRECISE_BIT});
  target_->set_viewport(secondary);
  vkCmdBindPipeline(secondary, kGraphics, pipeline_);
  draw_pixels(secondary, 50, 9);
  ASSERT_EQ(vkEndCommandBuffer(secondary), VK_SUCCESS);
  for (const bool counted : {false, true, false, true}) {
    context().run([&](VkCommandBuffer commands) {
      samples.reset(commands);
      target_->begin(commands, {}, VK_RENDERING_CONTENTS_SECONDARY_COMMAND_BUFFERS_BIT);
      if (counted) samples.begin(commands, 0, VK_QUERY_CONTROL_PRECISE_BIT);
      vkCmdExecuteCommands(commands, 1, &secondary);
      if (counted) samples.end(commands);
      target_->end(commands);
    });
    if (counted) {
      EXPECT_EQ(samples.read()[0], 9u);
    }
  }
}

}  // namespace
}  // namespace tally::test
