// Which draws have packed indices: their values equal those of draws with one address each, the
// image equals that without the layer, and shaders see the application's instance indices.
#include "api/instrumentation/packed_draw_indices.h"
#include "base_instance.vert.h"
#include "far_location.vert.h"
#include "full_screen.vert.h"
#include "instance_rate.vert.h"
#include "orange.frag.h"

namespace tally::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

struct Instances {
  uint32_t first = 0, count = 1;
};

TEST_F(PackedDrawIndices, draws_of_all_ranges_of_instances_are_counted_apart) {
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

TEST_F(PackedDrawIndices, pipelines_without_fragment_shader_count_vertices_apart) {
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
  // The instances that the rows drawn before do not cover: 3, 4, 9, 0 and 1.
  EXPECT_EQ(results[3].second.at(0), 16 * kQuad);
}

TEST_F(PackedDrawIndices, attributes_that_go_by_instance_keep_their_place) {
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

TEST_F(PackedDrawIndices, shaders_see_the_first_instance_of_the_application) {
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

TEST_F(PackedDrawIndices, every_view_of_multiview_counts) {
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

TEST_F(PackedDrawIndices, shaders_that_leave_no_location_have_an_address_for_each_draw) {
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
