// Recording of draws with packed indices: among other commands, in several command buffers, and on
// several threads.
#include <thread>

#include "api/instrumentation/packed_draw_indices.h"
#include "full_screen.vert.h"
#include "orange.frag.h"

namespace tally::test {
namespace {

using testing::ElementsAre;

class RecordedPackedDrawIndices : public PackedDrawIndices {};

// More draws than an index can distinguish, and more than fit in a page of records.
TEST_F(RecordedPackedDrawIndices, thousands_of_draws_keep_their_own_records) {
  constexpr uint32_t kDraws = 5000;
  const Results results = compare(in_one_pass([](Stage& stage, VkCommandBuffer commands) {
    bind(commands, stage.make_rows());
    stage.push(commands, 0);
    for (uint32_t i = 0; i < kDraws; ++i) draw_rows(commands, 1 + i % 3, 15 + i % 7);
  }));
  ASSERT_EQ(results.size(), kDraws);
  for (uint32_t i = 0; i < kDraws; ++i) {
    ASSERT_EQ(results[i], Drawn(i, rows(15 + i % 7, 1 + i % 3)));
  }
}

TEST_F(RecordedPackedDrawIndices, indexed_and_indirect_draws_stand_between_others) {
  const Results results = compare([](Stage& stage, const Instrumentation& instrumentation) {
    const Buffer indices(stage.context, 64, VK_BUFFER_USAGE_INDEX_BUFFER_BIT);
    for (uint32_t i = 0; i < kQuad; ++i) indices.as<uint32_t>()[i] = i + 3;
    const Buffer arguments(stage.context, 256, VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT);
    const uint32_t first = stage.context.features().drawIndirectFirstInstance ? 70656 : 0;
    arguments.as<VkDrawIndirectCommand>()[0] = {kQuad, 3, 0, first};
    scene(stage, instrumentation, [&](VkCommandBuffer commands) {
      bind(commands, stage.make_rows());
      stage.push(commands, 3);
      vkCmdBindIndexBuffer(commands, indices, 0, VK_INDEX_TYPE_UINT32);
      draw_rows(commands, 2, 1);
      vkCmdDrawIndexed(commands, kQuad, 2, 0, -3, 5);
      vkCmdDrawIndirect(commands, arguments, 0, 1, sizeof(VkDrawIndirectCommand));
      vkCmdDrawIndexed(commands, kQuad, 1, 0, -3, 1032);
      draw_rows(commands, 4);
      vkCmdDrawIndirect(commands, arguments, 0, 1, sizeof(VkDrawIndirectCommand));
      draw_rows(commands, 1, 9);
    });
  });
  ASSERT_EQ(results.size(), 7u);
  // The driver decides how often it runs an indexed vertex.
  const std::vector<uint64_t> texels = {2, 2, 3, 1, 4, 3, 1};
  for (size_t i = 0; i < texels.size(); ++i) {
    ASSERT_EQ(results[i].second.size(), 2u) << i;
    EXPECT_EQ(results[i].second[1], texels[i] * kRowTexels) << i;
  }
  EXPECT_EQ(results[0].second, rows(1, 2));
  EXPECT_EQ(results[2].second, rows(0, 3));
  EXPECT_EQ(results[6].second, rows(9, 1));
}

TEST_F(RecordedPackedDrawIndices, pipelines_and_constants_change_between_draws) {
  const Results results = compare([](Stage& stage, const Instrumentation& instrumentation) {
    const PipelineLayout other = make_pipeline_layout(stage.context, {}, 12);
    const VkPipeline pipelines[] = {stage.make_rows(), stage.make_rows(), stage.make_rows(other)};
    const VkPipelineLayout layouts[] = {stage.layout, stage.layout, other};
    const VkPipeline orange = stage.make({.stages = stages_of(full_screen_vert, orange_frag)});
    scene(stage, instrumentation, [&](VkCommandBuffer commands) {
      bind(commands, orange);
      vkCmdDraw(commands, 3, 1, 0, 0);
      vkCmdDraw(commands, 3, 1, 0, 0);
      for (uint32_t i = 0; i < 30; ++i) {
        const uint32_t which = i % 5 % 3;
        bind(commands, pipelines[which]);
        stage.push(commands, i, layouts[which]);
        draw_rows(commands, 1, i % 16);
        if (i % 4 == 0) stage.push(commands, 100 + i, layouts[which]);
        draw_rows(commands, 2, i % 8);
      }
    });
  });
  ASSERT_EQ(results.size(), 62u);
  EXPECT_EQ(results[0], Drawn(0, {3, 64 * 64}));
  EXPECT_EQ(results[1], Drawn(1, {3, 64 * 64}));
  for (uint32_t i = 0; i < 30; ++i) {
    EXPECT_EQ(results[2 + 2 * i], Drawn(2 + 2 * i, rows(0, 1)));
    EXPECT_EQ(results[3 + 2 * i], Drawn(3 + 2 * i, rows(0, 2)));
  }
}

// Values that the application writes to the bytes of the address do not affect packed indices.
TEST_F(RecordedPackedDrawIndices,
       dispatches_and_constants_in_the_bytes_of_the_address_stand_between_draws) {
  const Results results = compare([&](Stage& stage, const Instrumentation& instrumentation) {
    const Work work(stage.context);
    const Pipeline counting = make_work(work.layout, stage.next);
    const uint32_t size = stage.context.properties().limits.maxPushConstantsSize;
    const PipelineLayout full = make_pipeline_layout(stage.context, {}, size);
    const std::vector<uint32_t> constants(size / 4, 0x01020304);
    const VkPipeline pipeline = stage.make_rows();
    scene(stage, instrumentation, [&](VkCommandBuffer commands) {
      bind(commands, pipeline);
      stage.push(commands, 1);
      draw_rows(commands, 1);
      vkCmdPushConstants(commands, full, VK_SHADER_STAGE_ALL, 0, size, constants.data());
      stage.push(commands, 2);
      draw_rows(commands, 2);
      draw_rows(commands, 3);
    });
    instrumentation.run([&](VkCommandBuffer commands) {
      bind(commands, pipeline);
      work.set.bind(commands, work.layout);
      vkCmdBindPipeline(commands, kCompute, counting);
      for (uint32_t i = 0; i < 3; ++i) {
        stage.target.begin(commands);
        stage.push(commands, 5);
        draw_rows(commands, 4 + i);
        stage.target.end(commands);
        stage.push(commands, 1, work.layout);
        vkCmdDispatch(commands, 1 + i, 1, 1);
      }
    });
  });
  EXPECT_THAT(results, ElementsAre(Drawn(0, rows(0, 1)), Drawn(1, rows(0, 2)), Drawn(2, rows(0, 3)),
                                   Drawn(3, rows(0, 4)), Drawn(4, {8}), Drawn(5, rows(0, 5)),
                                   Drawn(6, {16}), Drawn(7, rows(0, 6)), Drawn(8, {24})));
}

TEST_F(RecordedPackedDrawIndices, secondaries_and_ranges_begin_anew_and_submitting_again_adds) {
  const Results results = compare([&](Stage& stage, const Instrumentation& instrumentation) {
    const VkRenderPass pass = stage.target.render_pass();
    const VkPipeline pipeline =
        stage.make({.stages = stages_of(rows_vert, rows_frag), .render_pass = pass});
    VkCommandBufferInheritanceInfo inheritance{VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_INFO};
    inheritance.renderPass = pass;
    inheritance.framebuffer = stage.target.framebuffer();
    std::vector<VkCommandBuffer> secondaries;
    for (uint32_t i = 0; i < 2; ++i) {
      const VkCommandBuffer commands = secondaries.emplace_back(
          context().begin_secondary(inheritance, VK_COMMAND_BUFFER_USAGE_RENDER_PASS_CONTINUE_BIT));
      stage.target.set_viewport(commands);
      bind(commands, pipeline);
      stage.push(commands, i);
      draw_rows(commands, 1);
      for (uint32_t range = 0; range < 2; ++range) {
        instrumentation.begin(commands);
        draw_rows(commands, 2 + i);
        draw_rows(commands, 4 + i);
        instrumentation.end(commands);
        draw_rows(commands, 8);
      }
      check(vkEndCommandBuffer(commands));
    }
    const VkCommandBuffer commands = stage.context.begin_commands(0);
    stage.target.begin_render_pass(commands, {0, 0, 0, 0},
                                   VK_SUBPASS_CONTENTS_SECONDARY_COMMAND_BUFFERS);
    vkCmdExecuteCommands(commands, 2, secondaries.data());
    stage.target.end_render_pass(commands);
    check(vkEndCommandBuffer(commands));
    for (int i = 0; i < 2; ++i) stage.context.submit_and_wait(commands);
  });
  const auto twice = [](uint32_t count) { return rows(0, 2 * count); };
  EXPECT_THAT(results, ElementsAre(Drawn(0, twice(2)), Drawn(1, twice(4)), Drawn(2, twice(2)),
                                   Drawn(3, twice(4)), Drawn(4, twice(3)), Drawn(5, twice(5)),
                                   Drawn(6, twice(3)), Drawn(7, twice(5))));
}

TEST_F(RecordedPackedDrawIndices, command_buffers_recorded_in_turn_take_their_indices_in_turn) {
  constexpr uint32_t kDraws = 60;
  const auto count_of = [](uint32_t draw) { return 1 + draw % 3; };
  const Results results = compare([&](Stage& stage, const Instrumentation& instrumentation) {
    const VkPipeline pipeline = stage.make_rows();
    const VkCommandBuffer both[] = {stage.context.begin_commands(0),
                                    stage.context.begin_commands(0)};
    for (const VkCommandBuffer commands : both) {
      instrumentation.begin(commands);
      stage.target.begin(commands);
      bind(commands, pipeline);
      stage.push(commands, 0);
    }
    for (uint32_t i = 0; i < kDraws; ++i) {
      const uint32_t in_a_row = i < kDraws / 2 ? 5 : 1;
      draw_rows(both[i / in_a_row % 2], count_of(i));
    }
    for (const VkCommandBuffer commands : both) {
      stage.target.end(commands);
      instrumentation.end(commands);
      check(vkEndCommandBuffer(commands));
      stage.context.submit_and_wait(commands);
    }
  });
  ASSERT_EQ(results.size(), kDraws);
  for (uint32_t i = 0; i < kDraws; ++i) EXPECT_EQ(results[i], Drawn(i, rows(0, count_of(i))));
}

TEST_F(RecordedPackedDrawIndices, threads_that_record_at_once_share_the_indices) {
  constexpr uint32_t kThreads = 3, kDraws = 2000;
  const Outcome outcome =
      draw(Way::Numbers, {}, [](Stage& stage, const Instrumentation& instrumentation) {
        const VkPipeline pipeline = stage.make_rows();
        std::deque<Recording> recordings;
        for (uint32_t i = 0; i < kThreads; ++i) recordings.emplace_back(stage.context);
        const auto record = [&](uint32_t thread) {
          const VkCommandBuffer commands = recordings[thread].commands;
          instrumentation.begin(commands);
          stage.target.begin(commands);
          bind(commands, pipeline);
          stage.push(commands, 0);
          for (uint32_t i = 0; i < kDraws; ++i) draw_rows(commands, 1 + thread);
          stage.target.end(commands);
          instrumentation.end(commands);
          check(vkEndCommandBuffer(commands));
        };
        std::vector<std::thread> threads;
        for (uint32_t i = 0; i < kThreads; ++i) threads.emplace_back(record, i);
        for (std::thread& thread : threads) thread.join();
        for (const Recording& recording : recordings) {
          stage.context.submit_and_wait(recording.commands);
        }
      });
  const Results& results = outcome.results;
  ASSERT_EQ(results.size(), kThreads * kDraws);
  std::vector<uint32_t> draws(kThreads);
  for (uint32_t i = 0; i < results.size(); ++i) {
    ASSERT_EQ(results[i].first, i);
    for (uint32_t t = 0; t < kThreads; ++t) draws[t] += results[i].second == rows(0, 1 + t);
  }
  EXPECT_THAT(draws, testing::Each(kDraws));
}

}  // namespace
}  // namespace tally::test
