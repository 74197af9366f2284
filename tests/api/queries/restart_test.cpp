// Queries on draws with primitive-restart indices, in every topology. Every scene runs
// with the layer's queries and with the driver's.
#include "api/queries/restart.h"
#include "level.tesc.h"
#include "level.tese.h"
#include "patch.vert.h"
#include "plain.frag.h"
#include "points.vert.h"

namespace tally::test {
namespace {

constexpr Step kStrips[] = {
    {VK_PRIMITIVE_TOPOLOGY_LINE_STRIP, 2, 1},
    {VK_PRIMITIVE_TOPOLOGY_TRIANGLE_STRIP, 3, 1},
    {VK_PRIMITIVE_TOPOLOGY_TRIANGLE_FAN, 3, 1},
    {VK_PRIMITIVE_TOPOLOGY_LINE_STRIP_WITH_ADJACENCY, 4, 1},
    {VK_PRIMITIVE_TOPOLOGY_TRIANGLE_STRIP_WITH_ADJACENCY, 6, 2},
};
constexpr Step kLists[] = {
    {VK_PRIMITIVE_TOPOLOGY_POINT_LIST, 1, 1},
    {VK_PRIMITIVE_TOPOLOGY_LINE_LIST, 2, 2},
    {VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST, 3, 3},
    {VK_PRIMITIVE_TOPOLOGY_LINE_LIST_WITH_ADJACENCY, 4, 4},
    {VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST_WITH_ADJACENCY, 6, 6},
};
constexpr uint32_t kInstances = 3;

class RestartTopologies : public PrimitiveRestart {
 protected:
  // The statistics of the indices, for every index type.
  template <typename Check>
  void in_every_type(VkPipeline pipeline, const Indices& indices, Check&& check_numbers) {
    for (const VkIndexType type :
         {VK_INDEX_TYPE_UINT32, VK_INDEX_TYPE_UINT16, VK_INDEX_TYPE_UINT8_EXT}) {
      if (type == VK_INDEX_TYPE_UINT8_EXT && !has_bytes()) continue;
      const Buffer buffer(context(), 8192, VK_BUFFER_USAGE_INDEX_BUFFER_BIT);
      store(buffer.as<std::byte>().subspan(16), type, indices);
      SCOPED_TRACE(testing::Message() << "type " << type);
      check_numbers(drawn([&](VkCommandBuffer commands) {
        const float level = 4;
        vkCmdBindPipeline(commands, kGraphics, pipeline);
        vkCmdPushConstants(commands, layout(), VK_SHADER_STAGE_ALL, 0, sizeof level, &level);
        vkCmdBindIndexBuffer(commands, buffer, 16, type);
        vkCmdDrawIndexed(commands, static_cast<uint32_t>(indices.size()), kInstances, 0, 0, 0);
      }));
    }
  }

  void expect_steps(std::span<const Step> steps, bool emulated) {
    const Indices indices = some_indices(1000);
    for (const Step& step : steps) {
      const bool adjacency = step.topology >= VK_PRIMITIVE_TOPOLOGY_LINE_LIST_WITH_ADJACENCY;
      if (adjacency && !context().features().geometryShader) continue;
      SCOPED_TRACE(testing::Message()
                   << "topology " << step.topology << (emulated ? ", emulated" : ", native"));
      GraphicsPipelineInfo info;
      info.topology = step.topology;
      info.primitive_restart = true;
      const Pipeline pipeline =
          make_graphics({{kVertex, points_vert}, {kFragment, plain_frag}}, info);
      in_every_type(pipeline, indices, [&](const std::vector<uint64_t>& numbers) {
        expect_assembled(numbers, emulated, assemble(step, indices) * kInstances);
      });
    }
  }

  Pipeline make_patches(uint32_t points) {
    GraphicsPipelineInfo info;
    info.topology = VK_PRIMITIVE_TOPOLOGY_PATCH_LIST;
    info.patch_control_points = points;
    info.primitive_restart = true;
    return make_graphics({{kVertex, patch_vert},
                          {kControl, level_tesc},
                          {kEvaluation, level_tese},
                          {kFragment, plain_frag}},
                         info);
  }
};

TEST_F(RestartTopologies, begin_a_strip_anew) {
  for (const bool emulated : {true, false}) {
    if (start_source(emulated)) expect_steps(kStrips, emulated);
  }
}

TEST_F(RestartTopologies, begin_a_primitive_of_a_list_anew) {
  for (const bool emulated : {true, false}) {
    if (!start_source(emulated)) return;
    if (!restarts_lists()) GTEST_SKIP() << "lists do not restart";
    expect_steps(kLists, emulated);
  }
}

TEST_F(RestartTopologies, begin_a_patch_anew) {
  constexpr uint64_t kTriangles = 24;  // of a patch with level 4
  const Indices indices = some_indices(1000);
  for (const bool emulated : {true, false}) {
    if (!start_source(emulated)) return;
    if (!restarts_patches()) GTEST_SKIP() << "patches do not restart";
    for (const uint32_t points : {3u, 5u}) {
      const Step step{VK_PRIMITIVE_TOPOLOGY_PATCH_LIST, points, points};
      const Assembled expected = assemble(step, indices) * kInstances;
      SCOPED_TRACE(testing::Message()
                   << "points " << points << (emulated ? ", emulated" : ", native"));
      const Pipeline pipeline = make_patches(points);
      in_every_type(pipeline, indices, [&](const std::vector<uint64_t>& numbers) {
        EXPECT_EQ(numbers[kAssembledPrimitives], expected.primitives);
        EXPECT_EQ(numbers[kPatches], expected.primitives);
        EXPECT_EQ(numbers[kClippingInvocations], expected.primitives * kTriangles);
        if (emulated) {
          EXPECT_EQ(numbers[kAssembledVertices], expected.vertices);
        }
      });
    }
  }
}

}  // namespace
}  // namespace tally::test
