// Draws that are told apart by their instance index: the values are those of draws with an address
// each, the picture is that without the layer, and shaders see the application's instances.
#include <unistd.h>

#include <deque>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <thread>

#include "base_instance.vert.h"
#include "counters/kit.h"
#include "far_location.vert.h"
#include "full_screen.vert.h"
#include "instance_rate.vert.h"
#include "orange.frag.h"
#include "rows.frag.h"
#include "rows.vert.h"

namespace tally::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr uint32_t kQuad = 6;         // vertices
constexpr uint64_t kRowTexels = 256;  // of an instance in the picture
constexpr const char* kNumbers = "the draws of a pipeline have numbers";
constexpr const char* kAddresses = "the draws of a pipeline have an address each";

// Vertices and fragments of a draw of so many instances of rows.vert.
std::vector<uint64_t> rows(uint32_t first, uint32_t count) {
  uint64_t shown = 0;
  for (uint32_t i = 0; i < count; ++i) shown += ((first + i) & 1023) < 16;
  return {uint64_t{count} * kQuad, shown * kRowTexels};
}

class DrawNumbers : public CountersTest {
 protected:
  enum class Way { Plain, Numbers, Addresses };

  // Everything that a scene is drawn with, on a device that goes the way.
  struct Stage {
    Context& context;
    RenderTarget target;
    PipelineLayout layout;
    const void* next;  // of pipelines
    std::deque<Pipeline> pipelines = {};

    VkPipeline make(GraphicsPipelineInfo info) {
      if (info.layout == VK_NULL_HANDLE) info.layout = layout;
      info.next = next;
      return pipelines.emplace_back(make_graphics_pipeline(context, info));
    }
    VkPipeline make_rows(VkPipelineLayout with = VK_NULL_HANDLE) {
      return make({.stages = stages_of(rows_vert, rows_frag), .layout = with});
    }
    void push(VkCommandBuffer commands, uint32_t add, VkPipelineLayout with = VK_NULL_HANDLE) {
      vkCmdPushConstants(commands, with ? with : layout.get(), VK_SHADER_STAGE_ALL, 0, sizeof add,
                         &add);
    }
  };
  static std::vector<test::Stage> stages_of(std::span<const uint32_t> vertex,
                                            std::span<const uint32_t> fragment) {
    return {{VK_SHADER_STAGE_VERTEX_BIT, vertex}, {VK_SHADER_STAGE_FRAGMENT_BIT, fragment}};
  }
  static void bind(VkCommandBuffer commands, VkPipeline pipeline) {
    vkCmdBindPipeline(commands, kGraphics, pipeline);
  }
  static void draw_rows(VkCommandBuffer commands, uint32_t count, uint32_t first = 0) {
    vkCmdDraw(commands, kQuad, count, 0, first);
  }

  Stage make_stage(Way way, const RenderTargetInfo& target) {
    log_.clear();
    const std::filesystem::path file = std::filesystem::path(testing::TempDir()) /
                                       ("draw_numbers." + std::to_string(getpid()) + ".log");
    std::filesystem::remove(file);
    const std::string path = file.string();
    Context& device = start({{"draw_numbers", way == Way::Addresses ? "never" : "auto"},
                             {"log_level", "debug"},
                             {"log_file", path.c_str()}});
    log_file_ = file;
    return {device, RenderTarget(device, target), make_pipeline_layout(device, {}, 4),
            way == Way::Plain ? nullptr : &kInstrument};
  }

  // The range is around the scene, which is around its passes.
  struct Outcome {
    Results results;
    std::vector<uint32_t> picture;
    std::string log;
  };
  using Scene = std::function<void(Stage&, const Instrumentation&)>;
  Outcome draw(Way way, const RenderTargetInfo& target, const Scene& scene) {
    Stage stage = make_stage(way, target);
    const Instrumentation instrumentation(context());
    scene(stage, instrumentation);
    return {entered(instrumentation), stage.target.read(), read_log()};
  }
  // The same in all ways. Answers the invocations of each stage of each draw.
  Results compare(const Scene& scene, const RenderTargetInfo& target = {}) {
    const Outcome plain = draw(Way::Plain, target, scene);
    const Outcome numbers = draw(Way::Numbers, target, scene);
    const Outcome addresses = draw(Way::Addresses, target, scene);
    EXPECT_EQ(numbers.picture, plain.picture);
    EXPECT_EQ(addresses.picture, plain.picture);
    EXPECT_EQ(numbers.results, addresses.results);
    EXPECT_THAT(plain.results, testing::IsEmpty());
    EXPECT_THAT(addresses.log, Not(HasSubstr(kNumbers)));
    log_ = numbers.log;
    return numbers.results;
  }
  // What the layer said on the way of numbers.
  const std::string& log() const { return log_; }

  // One pass in a range.
  template <typename Record>
  static void scene(Stage& stage, const Instrumentation& instrumentation, const Record& record) {
    stage.context.run([&](VkCommandBuffer commands) {
      instrumentation.begin(commands);
      stage.target.begin(commands);
      record(commands);
      stage.target.end(commands);
      instrumentation.end(commands);
    });
  }
  template <typename Record>
  static Scene in_one_pass(Record record) {
    return [record](Stage& stage, const Instrumentation& instrumentation) {
      scene(stage, instrumentation, [&](VkCommandBuffer commands) { record(stage, commands); });
    };
  }

 private:
  // Invocations of each stage of each draw.
  Results entered(const Instrumentation& instrumentation) {
    Results result;
    const size_t executions = instrumentation.metric("executions");
    for (const BlockValues& block : instrumentation.read()) {
      if (result.empty() || result.back().first != block.header.resultIndex) {
        result.push_back({block.header.resultIndex, {}});
      }
      if (block.header.basicBlockIndex != 0) continue;
      result.back().second.push_back(block.metrics[executions]);
    }
    return result;
  }
  std::string read_log() const {
    std::stringstream text;
    text << std::ifstream(log_file_).rdbuf();
    return text.str();
  }

  std::string log_;
  std::filesystem::path log_file_;
};

struct Instances {
  uint32_t first = 0, count = 1;
};

using Drawn = std::pair<uint32_t, std::vector<uint64_t>>;

TEST_F(DrawNumbers, draws_of_all_ranges_of_instances_are_counted_apart) {
  constexpr Instances kDraws[] = {{0, 1},       {0, 3},        {2, 7},       {5, 0},
                                  {0, 2000},    {65000, 535},  {65000, 536}, {65001, 535},
                                  {65001, 536}, {65535, 1},    {65535, 2},   {65536, 1},
                                  {70000, 9},   {0x7fffff, 5}, {9, 2},       {0, 16}};
  const Results results = compare(in_one_pass([&](Stage& stage, VkCommandBuffer commands) {
    bind(commands, stage.make_rows());
    stage.push(commands, 77);
    for (const Instances& draw : kDraws) draw_rows(commands, draw.count, draw.first);
  }));
  ASSERT_EQ(results.size(), std::size(kDraws));
  for (size_t i = 0; i < results.size(); ++i) {
    EXPECT_EQ(results[i].second, rows(kDraws[i].first, kDraws[i].count)) << i;
  }
  EXPECT_THAT(log(), HasSubstr(kNumbers));
}

// More than one number can tell apart, and more than a page of records holds.
TEST_F(DrawNumbers, thousands_of_draws_keep_their_own_records) {
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

TEST_F(DrawNumbers, indexed_and_indirect_draws_stand_between_others) {
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
  // How often a driver runs an indexed vertex is its choice.
  const std::vector<uint64_t> texels = {2, 2, 3, 1, 4, 3, 1};
  for (size_t i = 0; i < texels.size(); ++i) {
    ASSERT_EQ(results[i].second.size(), 2u) << i;
    EXPECT_EQ(results[i].second[1], texels[i] * kRowTexels) << i;
  }
  EXPECT_EQ(results[0].second, rows(1, 2));
  EXPECT_EQ(results[2].second, rows(0, 3));
  EXPECT_EQ(results[6].second, rows(9, 1));
}

TEST_F(DrawNumbers, pipelines_and_constants_change_between_draws) {
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

// What others write where the address stands does not come into numbered draws.
TEST_F(DrawNumbers, dispatches_and_constants_in_the_bytes_of_the_address_stand_between_draws) {
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
    stage.context.run([&](VkCommandBuffer commands) {
      instrumentation.begin(commands);
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
      instrumentation.end(commands);
    });
  });
  EXPECT_THAT(results, ElementsAre(Drawn(0, rows(0, 1)), Drawn(1, rows(0, 2)), Drawn(2, rows(0, 3)),
                                   Drawn(3, rows(0, 4)), Drawn(4, {8}), Drawn(5, rows(0, 5)),
                                   Drawn(6, {16}), Drawn(7, rows(0, 6)), Drawn(8, {24})));
}

TEST_F(DrawNumbers, secondaries_and_ranges_begin_anew_and_submitting_again_adds) {
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
          make_secondary(inheritance, VK_COMMAND_BUFFER_USAGE_RENDER_PASS_CONTINUE_BIT));
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

TEST_F(DrawNumbers, command_buffers_recorded_in_turn_take_their_indices_in_turn) {
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

TEST_F(DrawNumbers, threads_that_record_at_once_share_the_indices) {
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

TEST_F(DrawNumbers, pipelines_without_fragment_shader_count_vertices_apart) {
  const RenderTargetInfo target{.depth_format = VK_FORMAT_D32_SFLOAT};
  const Results results = compare(in_one_pass([](Stage& stage, VkCommandBuffer commands) {
                                    GraphicsPipelineInfo info{.depth_format = VK_FORMAT_D32_SFLOAT};
                                    info.depth_test = info.depth_write = true;
                                    info.stages = {{VK_SHADER_STAGE_VERTEX_BIT, rows_vert}};
                                    info.color_write = 0;
                                    const VkPipeline depth = stage.make(info);
                                    info.stages = stages_of(rows_vert, rows_frag);
                                    const VkPipeline color = stage.make(info);
                                    stage.push(commands, 1);
                                    bind(commands, depth);
                                    draw_rows(commands, 2, 3);
                                    draw_rows(commands, 1, 9);
                                    draw_rows(commands, 2, 65536);
                                    bind(commands, color);
                                    draw_rows(commands, 16);
                                  }),
                                  target);
  ASSERT_EQ(results.size(), 4u);
  EXPECT_EQ(results[0], Drawn(0, {2 * kQuad}));
  EXPECT_EQ(results[1], Drawn(1, {1 * kQuad}));
  EXPECT_EQ(results[2], Drawn(2, {2 * kQuad}));
  // Those that are not behind the rows drawn before: 3, 4, 9, 0 and 1.
  EXPECT_EQ(results[3].second.at(0), 16 * kQuad);
}

TEST_F(DrawNumbers, attributes_that_go_by_instance_keep_their_place) {
  const VkVertexInputBindingDescription binding{0, 4, VK_VERTEX_INPUT_RATE_INSTANCE};
  const VkVertexInputAttributeDescription attribute{0, 0, VK_FORMAT_R32_UINT, 0};
  VkPipelineVertexInputStateCreateInfo input{
      VK_STRUCTURE_TYPE_PIPELINE_VERTEX_INPUT_STATE_CREATE_INFO};
  input.vertexBindingDescriptionCount = input.vertexAttributeDescriptionCount = 1;
  input.pVertexBindingDescriptions = &binding;
  input.pVertexAttributeDescriptions = &attribute;
  const Results results = compare([&](Stage& stage, const Instrumentation& instrumentation) {
    const Buffer values(stage.context, 64, VK_BUFFER_USAGE_VERTEX_BUFFER_BIT);
    for (uint32_t i = 0; i < 16; ++i) values.as<uint32_t>()[i] = 0x10203 * i;
    const VkPipeline pipeline =
        stage.make({.stages = stages_of(instance_rate_vert, rows_frag), .vertex_input = &input});
    scene(stage, instrumentation, [&](VkCommandBuffer commands) {
      bind(commands, pipeline);
      const VkBuffer buffer = values;
      const VkDeviceSize offset = 0;
      vkCmdBindVertexBuffers(commands, 0, 1, &buffer, &offset);
      draw_rows(commands, 3);
      draw_rows(commands, 4, 8);
    });
  });
  EXPECT_THAT(results, ElementsAre(Drawn(0, rows(0, 3)), Drawn(1, rows(8, 4))));
  EXPECT_THAT(log(), Not(HasSubstr(kNumbers)));
}

TEST_F(DrawNumbers, shaders_see_the_first_instance_of_the_application) {
  VkPhysicalDeviceVulkan11Features core{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES};
  VkPhysicalDeviceFeatures2 features{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, &core};
  vkGetPhysicalDeviceFeatures2(context().gpu(), &features);
  if (!core.shaderDrawParameters) GTEST_SKIP() << "no shaderDrawParameters";
  const Results results = compare(in_one_pass([](Stage& stage, VkCommandBuffer commands) {
    bind(commands, stage.make({.stages = stages_of(base_instance_vert, rows_frag)}));
    draw_rows(commands, 2, 1);
    draw_rows(commands, 3, 4);
    draw_rows(commands, 3, 66560 + 8);
    draw_rows(commands, 1, 12);
  }));
  EXPECT_THAT(results, ElementsAre(Drawn(0, rows(1, 2)), Drawn(1, rows(4, 3)), Drawn(2, rows(8, 3)),
                                   Drawn(3, rows(12, 1))));
  EXPECT_THAT(log(), HasSubstr(kNumbers));
}

TEST_F(DrawNumbers, every_view_of_multiview_counts) {
  const RenderTargetInfo target{.view_mask = 3};
  const Results results = compare(
      in_one_pass([](Stage& stage, VkCommandBuffer commands) {
        bind(commands, stage.make({.stages = stages_of(rows_vert, rows_frag), .view_mask = 3}));
        stage.push(commands, 9);
        for (uint32_t i = 1; i < 6; ++i) draw_rows(commands, i, i);
      }),
      target);
  ASSERT_EQ(results.size(), 5u);
  for (uint32_t i = 1; i < 6; ++i) {
    EXPECT_EQ(results[i - 1].second.at(1), 2 * rows(i, i)[1]) << i;
  }
}

TEST_F(DrawNumbers, shaders_that_leave_no_location_have_an_address_for_each_draw) {
  const VkPhysicalDeviceLimits& limits = context().properties().limits;
  const uint32_t components =
      std::min(limits.maxVertexOutputComponents, limits.maxFragmentInputComponents);
  if (components != 128) GTEST_SKIP() << components / 4 << " locations";
  const Results results = compare(in_one_pass([](Stage& stage, VkCommandBuffer commands) {
    bind(commands, stage.make({.stages = stages_of(far_location_vert, orange_frag)}));
    for (uint32_t i = 0; i < 3; ++i) vkCmdDraw(commands, 3, 1, 0, i);
  }));
  EXPECT_THAT(results,
              ElementsAre(Drawn(0, {3, 64 * 64}), Drawn(1, {3, 64 * 64}), Drawn(2, {3, 64 * 64})));
  EXPECT_THAT(log(), HasSubstr(kAddresses));
  EXPECT_THAT(log(), Not(HasSubstr(kNumbers)));
}

}  // namespace
}  // namespace tally::test
