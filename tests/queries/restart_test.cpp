// What queries count of draws whose indices restart the primitive. Every scene is run with the
// layer's queries and with the driver's, and compared with primitives that are put together one by
// one.
#include <array>
#include <cstring>
#include <random>

#include "patch.vert.h"
#include "plain.frag.h"
#include "queries/scenes.h"

namespace tally::test {
namespace {

constexpr uint32_t kRestart = ~0u;
using Indices = std::vector<uint32_t>;

struct Assembled {
  uint64_t vertices = 0;
  uint64_t primitives = 0;
};

// How many vertices the first primitive of a run takes, and each further one.
struct Step {
  VkPrimitiveTopology topology;
  uint32_t first, further;
};
constexpr Step kSteps[] = {
    {VK_PRIMITIVE_TOPOLOGY_LINE_STRIP, 2, 1},
    {VK_PRIMITIVE_TOPOLOGY_TRIANGLE_STRIP, 3, 1},
    {VK_PRIMITIVE_TOPOLOGY_TRIANGLE_FAN, 3, 1},
    {VK_PRIMITIVE_TOPOLOGY_LINE_STRIP_WITH_ADJACENCY, 4, 1},
    {VK_PRIMITIVE_TOPOLOGY_TRIANGLE_STRIP_WITH_ADJACENCY, 6, 2},
};

Assembled assemble(const Step& step, const Indices& indices) {
  Assembled result;
  uint32_t run = 0;
  for (const uint32_t index : indices) {
    if (index == kRestart) {
      run = 0;
      continue;
    }
    ++result.vertices;
    ++run;
    if (run >= step.first && (run - step.first) % step.further == 0) ++result.primitives;
  }
  return result;
}

// Runs of all lengths, empty ones too; and the last one goes on to the end.
Indices some_indices(size_t count) {
  std::mt19937 random(7);
  Indices indices;
  while (indices.size() < count) {
    for (uint32_t run = random() % 12; run > 0; --run) indices.push_back(random() % 200);
    indices.push_back(kRestart);
  }
  indices.resize(count);
  indices.back() = 5;
  return indices;
}

uint32_t bytes_of(VkIndexType type) {
  return type == VK_INDEX_TYPE_UINT32 ? 4 : type == VK_INDEX_TYPE_UINT16 ? 2 : 1;
}

void store(std::span<std::byte> at, VkIndexType type, const Indices& indices) {
  const uint32_t bytes = bytes_of(type);
  for (size_t i = 0; i < indices.size(); ++i) {
    std::memcpy(at.data() + i * bytes, &indices[i], bytes);
  }
}

class PrimitiveRestart : public QueryTypes {
 protected:
  Context& start_source(bool emulated) {
    start(emulated);
    ContextOptions options;
    if (context().has_extension(VK_EXT_INDEX_TYPE_UINT8_EXTENSION_NAME)) {
      options.device_extensions.push_back(VK_EXT_INDEX_TYPE_UINT8_EXTENSION_NAME);
      options.device_next = &bytes_;
    }
    return start(emulated, options);
  }
  bool has_bytes() { return context().has_extension(VK_EXT_INDEX_TYPE_UINT8_EXTENSION_NAME); }

  Pipeline make_restarting(VkPrimitiveTopology topology) {
    GraphicsPipelineInfo info;
    info.topology = topology;
    info.primitive_restart = true;
    return make_graphics({{kVertex, patch_vert}, {kFragment, plain_frag}}, info);
  }

 private:
  VkPhysicalDeviceIndexTypeUint8FeaturesEXT bytes_{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_INDEX_TYPE_UINT8_FEATURES_EXT, nullptr, VK_TRUE};
};

// The driver need not count vertices of incomplete primitives.
void expect_assembled(const std::vector<uint64_t>& numbers, bool emulated, const Assembled& all) {
  if (emulated) {
    EXPECT_EQ(numbers[kAssembledVertices], all.vertices);
  } else {
    EXPECT_LE(numbers[kAssembledVertices], all.vertices);
  }
  EXPECT_EQ(numbers[kAssembledPrimitives], all.primitives);
  EXPECT_EQ(numbers[kClippingInvocations], all.primitives);
}

TEST_F(PrimitiveRestart, begins_a_primitive_anew_in_every_topology_and_type_of_index) {
  const Indices indices = some_indices(1000);
  for (const bool emulated : {true, false}) {
    start_source(emulated);
    if (!context().features().pipelineStatisticsQuery) return;
    for (const Step& step : kSteps) {
      const bool adjacency = step.first > 3;
      if (adjacency && !context().features().geometryShader) continue;
      const Pipeline pipeline = make_restarting(step.topology);
      for (const VkIndexType type :
           {VK_INDEX_TYPE_UINT32, VK_INDEX_TYPE_UINT16, VK_INDEX_TYPE_UINT8_EXT}) {
        if (type == VK_INDEX_TYPE_UINT8_EXT && !has_bytes()) continue;
        const Buffer buffer(context(), 8192, VK_BUFFER_USAGE_INDEX_BUFFER_BIT);
        store(buffer.as<std::byte>().subspan(16), type, indices);
        const auto numbers = drawn([&](VkCommandBuffer commands) {
          vkCmdBindPipeline(commands, kGraphics, pipeline);
          vkCmdBindIndexBuffer(commands, buffer, 16, type);
          vkCmdDrawIndexed(commands, 1000, 3, 0, 0, 0);
        });
        Assembled expected = assemble(step, indices);
        expected.vertices *= 3;
        expected.primitives *= 3;
        SCOPED_TRACE(testing::Message() << "topology " << step.topology << ", type " << type
                                        << (emulated ? ", emulated" : ", native"));
        expect_assembled(numbers, emulated, expected);
      }
    }
  }
}

TEST_F(PrimitiveRestart, of_draws_whose_arguments_stand_in_a_buffer_and_of_parts_of_the_indices) {
  const Indices indices = some_indices(1000);
  const Step strip = kSteps[1];
  const auto part = [&](size_t first, size_t count) {
    return assemble(strip, {indices.begin() + first, indices.begin() + first + count});
  };
  Assembled expected;
  for (const auto& [first, count, instances] :
       {std::array<size_t, 3>{100, 77, 1}, {13, 600, 2}, {999, 1, 5}}) {
    expected.vertices += part(first, count).vertices * instances;
    expected.primitives += part(first, count).primitives * instances;
  }
  for (const bool emulated : {true, false}) {
    start_source(emulated);
    if (!context().features().pipelineStatisticsQuery) return;
    if (!context().features().multiDrawIndirect) GTEST_SKIP() << "no multi-draw";
    const Pipeline pipeline = make_restarting(strip.topology);
    const Buffer buffer(context(), 4096, VK_BUFFER_USAGE_INDEX_BUFFER_BIT);
    store(buffer.as<std::byte>(), VK_INDEX_TYPE_UINT16, indices);
    const Buffer arguments(context(), 64, VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT);
    const uint32_t words[] = {600, 2, 13, 0, 0, 1, 5, 999, 0, 0};
    std::ranges::copy(words, arguments.as<uint32_t>().begin());
    const auto numbers = drawn([&](VkCommandBuffer commands) {
      vkCmdBindPipeline(commands, kGraphics, pipeline);
      vkCmdBindIndexBuffer(commands, buffer, 0, VK_INDEX_TYPE_UINT16);
      vkCmdDrawIndexed(commands, 77, 1, 100, 0, 0);
      vkCmdDrawIndexedIndirect(commands, arguments, 0, 2, 20);
    });
    SCOPED_TRACE(emulated ? "emulated" : "native");
    expect_assembled(numbers, emulated, expected);
  }
}

TEST_F(PrimitiveRestart, is_what_the_command_buffer_sets_where_it_is_dynamic) {
  const Indices indices = some_indices(1000);
  const Step strip = kSteps[1];
  for (const bool emulated : {true, false}) {
    start_source(emulated);
    if (!context().features().pipelineStatisticsQuery) return;
    GraphicsPipelineInfo info;
    info.topology = strip.topology;
    info.dynamic = {VK_DYNAMIC_STATE_PRIMITIVE_RESTART_ENABLE};
    const Pipeline pipeline = make_graphics({{kVertex, patch_vert}, {kFragment, plain_frag}}, info);
    const Buffer buffer(context(), 4096, VK_BUFFER_USAGE_INDEX_BUFFER_BIT);
    store(buffer.as<std::byte>(), VK_INDEX_TYPE_UINT16, indices);
    for (const VkBool32 restarts : {VK_TRUE, VK_FALSE}) {
      const auto numbers = drawn([&](VkCommandBuffer commands) {
        vkCmdBindPipeline(commands, kGraphics, pipeline);
        vkCmdBindIndexBuffer(commands, buffer, 0, VK_INDEX_TYPE_UINT16);
        vkCmdSetPrimitiveRestartEnable(commands, restarts);
        vkCmdDrawIndexed(commands, 1000, 1, 0, 0, 0);
      });
      SCOPED_TRACE(emulated ? "emulated" : "native");
      expect_assembled(numbers, emulated,
                       restarts ? assemble(strip, indices) : Assembled{1000, 998});
    }
  }
}

}  // namespace
}  // namespace tally::test
