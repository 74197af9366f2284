// Descriptor heaps with each feature of the layer. The layer's own dispatches leave the
// application's push data, heaps and descriptor sets as they are.
#include <array>
#include <cstring>

#include "add.comp.h"
#include "api/heaps/kit.h"
#include "api/queries/kit.h"
#include "api/regions/kit.h"
#include "branchy.frag.h"
#include "full.frag.h"
#include "rectangle.vert.h"
#include "support/shader_objects.h"

namespace tally::test {
namespace {

constexpr VkExtent2D kExtent = {128, 96};
constexpr RectanglePush kWhole = {0, 0, 128, 96, 128, 96};
constexpr uint64_t kPixels = uint64_t{128} * 96;
constexpr VkQueryPipelineStatisticFlags kInvocations =
    VK_QUERY_PIPELINE_STATISTIC_COMPUTE_SHADER_INVOCATIONS_BIT;
constexpr VkQueryPipelineStatisticFlags kFragments =
    VK_QUERY_PIPELINE_STATISTIC_FRAGMENT_SHADER_INVOCATIONS_BIT;

class HeapQueries : public HeapsTest {
 protected:
  void SetUp() override {
    if (!start_heaps({{"emulate_queries", "all"}})) GTEST_SKIP() << missing();
  }
};

TEST_F(HeapQueries, count_dispatches_and_leave_push_data_and_heaps_alone) {
  const Buffer values = make_values();
  const Pipeline pipeline = make_heap_compute(add_comp, kHeapBit);
  const Queries queries(context(), VK_QUERY_TYPE_PIPELINE_STATISTICS, 2, kInvocations);
  context().run([&](VkCommandBuffer commands) {
    queries.reset(commands);
    vkCmdBindPipeline(commands, kCompute, pipeline);
    bind_resource_heap(commands);
    push(commands, AddPush{values.address(), 5});
    for (const uint32_t query : {0, 1}) {
      queries.begin(commands, query);
      dispatch_groups(commands, 3 + query);
      queries.end(commands, query);
      dispatch_groups(commands, 1);
    }
  });
  EXPECT_EQ(queries.read(0)[0], 24u);
  EXPECT_EQ(queries.read(1)[0], 32u);
  expect_added(values, {{24, 5}, {8, 5}, {32, 5}, {8, 5}});
}

TEST_F(HeapQueries, leave_descriptor_sets_alone_between_heaps) {
  const Buffer values = make_values();
  const Pipeline pipeline = make_heap_compute(add_comp, kHeapBit);
  const Queries queries(context(), VK_QUERY_TYPE_PIPELINE_STATISTICS, 2, kInvocations);
  context().run([&](VkCommandBuffer commands) {
    queries.reset(commands);
    queries.begin(commands, 0);
    vkCmdBindPipeline(commands, kCompute, pipeline);
    push(commands, AddPush{values.address(), 5});
    vkCmdDispatch(commands, 3, 1, 1);
    dispatch(commands, work().plain, 2, 7);
    queries.end(commands, 0);
    dispatch_groups(commands, 1);  // with the sets and constants of the one before
    queries.begin(commands, 1);
    dispatch_groups(commands, 1);
    queries.end(commands, 1);
  });
  EXPECT_EQ(queries.read(0)[0], 40u);
  EXPECT_EQ(queries.read(1)[0], 8u);
  expect_added(work().values, {{16, 7}, {8, 7}, {8, 7}});
}

TEST_F(HeapQueries, count_draws_and_instrumentation_reads_the_same_record) {
  const Pipeline pipeline = make_heap_rectangles(branchy_frag);
  const RenderTarget target(context(), {.extent = kExtent});
  const Queries queries(context(), VK_QUERY_TYPE_PIPELINE_STATISTICS, 1, kFragments);
  const Instrumentation instrumentation(context());
  context().run([&](VkCommandBuffer commands) {
    queries.reset(commands);
    instrumentation.begin(commands);
    push(commands, kWhole);
    target.begin(commands);
    queries.begin(commands);
    vkCmdBindPipeline(commands, kGraphics, pipeline);
    vkCmdDraw(commands, 4, 1, 0, 0);
    vkCmdDraw(commands, 4, 1, 0, 0);
    queries.end(commands);
    target.end(commands);
    instrumentation.end(commands);
    full_barrier(commands);
  });
  EXPECT_EQ(queries.read()[0], 2 * kPixels);
  for (const uint32_t draw : {0, 1}) {
    const Counts fragments(instrumentation, VK_SHADER_STAGE_FRAGMENT_BIT, branchy_frag, draw);
    EXPECT_EQ(fragments.invocations(), kPixels) << draw;
  }
}

// The record pointer would invalidate the descriptor sets: a message says that counts are missing.
TEST_F(HeapQueries, that_cannot_count_leave_descriptor_sets_alone) {
  const Pipeline pipeline = make_heap_orange(kHeapBit);
  const RenderTarget target(context(), {.extent = kExtent});
  const Queries queries(context(), VK_QUERY_TYPE_PIPELINE_STATISTICS, 1, kFragments);
  context().run([&](VkCommandBuffer commands) {
    queries.reset(commands);
    dispatch(commands, work().plain, 1, 7);
    target.begin(commands);
    queries.begin(commands);
    vkCmdBindPipeline(commands, kGraphics, pipeline);
    vkCmdDraw(commands, 3, 1, 0, 0);
    queries.end(commands);
    target.end(commands);
    dispatch_groups(commands, 1);
  });
  EXPECT_TRUE(has_message("TALLY-mixed-descriptors"));
  expect_added(work().values, {{8, 7}, {8, 7}});
}

class HeapRegions : public HeapsTest {
 protected:
  void SetUp() override {
    if (!start_heaps({},
                     {.device_extensions = {VK_ARM_PERFORMANCE_COUNTERS_BY_REGION_EXTENSION_NAME},
                      .device_next = &feature_})) {
      GTEST_SKIP() << missing();
    }
  }

 private:
  VkPhysicalDevicePerformanceCountersByRegionFeaturesARM feature_{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PERFORMANCE_COUNTERS_BY_REGION_FEATURES_ARM, nullptr,
      VK_TRUE};
};

TEST_F(HeapRegions, count_draws_and_leave_push_data_alone) {
  const Pipeline pipeline = make_heap_rectangles(branchy_frag);
  const RenderTarget target(context(), {.extent = kExtent});
  const Instrumentation instrumentation(context());
  const Capture values(context(), {kExtent});
  context().run([&](VkCommandBuffer commands) {
    instrumentation.begin(commands);
    bind_resource_heap(commands);
    push(commands, kWhole);
    target.begin(commands, {0, 0, 0, 0}, 0, values.begin_info());
    vkCmdBindPipeline(commands, kGraphics, pipeline);
    vkCmdDraw(commands, 4, 1, 0, 0);
    push(commands, RectanglePush{50, 20, 71, 41, 128, 96});
    vkCmdDraw(commands, 4, 1, 0, 0);
    target.end(commands);
    target.begin(commands);
    vkCmdDraw(commands, 4, 1, 0, 0);
    target.end(commands);
    instrumentation.end(commands);
    full_barrier(commands);
  });
  expect_pixels(
      values, "fragment_invocations", context(), {{0, 0}, kExtent},
      [](uint32_t x, uint32_t y) { return 1 + (x >= 50 && x < 71 && y >= 20 && y < 41 ? 1 : 0); });
  values.expect_layout();
  const uint64_t pixels[] = {kPixels, 441, 441};
  for (uint32_t draw = 0; draw < 3; ++draw) {
    const Counts fragments(instrumentation, VK_SHADER_STAGE_FRAGMENT_BIT, branchy_frag, draw);
    EXPECT_EQ(fragments.invocations(), pixels[draw]) << draw;
  }
}

class HeapShaderObjects : public HeapsTest {
 protected:
  static constexpr VkShaderCreateFlagsEXT kFlags =
      VK_SHADER_CREATE_INSTRUMENT_SHADER_BIT_ARM | VK_SHADER_CREATE_DESCRIPTOR_HEAP_BIT_EXT;
  void SetUp() override {
    if (!Context().has_extension(VK_EXT_SHADER_OBJECT_EXTENSION_NAME)) {
      GTEST_SKIP() << "no shader objects";
    }
    if (!start_heaps({}, {.device_extensions = {VK_EXT_SHADER_OBJECT_EXTENSION_NAME},
                          .device_next = &feature_})) {
      GTEST_SKIP() << missing();
    }
  }

 private:
  VkPhysicalDeviceShaderObjectFeaturesEXT feature_ = {
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_OBJECT_FEATURES_EXT, nullptr, VK_TRUE};
};

TEST_F(HeapShaderObjects, count_like_pipelines) {
  const Buffer values = make_values();
  const ShaderObjects compute(
      context(), {{.shader = {VK_SHADER_STAGE_COMPUTE_BIT, add_comp}, .flags = kFlags}});
  const RenderTarget target(context(), {.extent = kExtent});
  const Instrumentation instrumentation(context());
  for (const VkShaderCreateFlagsEXT link : {0u, 1u}) {
    const ShaderObjects graphics(
        context(),
        {{.shader = {VK_SHADER_STAGE_VERTEX_BIT, rectangle_vert},
          .next_stage = VK_SHADER_STAGE_FRAGMENT_BIT,
          .flags = kFlags | link},
         {.shader = {VK_SHADER_STAGE_FRAGMENT_BIT, branchy_frag}, .flags = kFlags | link}});
    context().run([&](VkCommandBuffer commands) {
      instrumentation.begin(commands);
      compute.bind(commands);
      push(commands, AddPush{values.address(), 5});
      vkCmdDispatch(commands, 3, 1, 1);
      vkCmdDispatch(commands, 2, 1, 1);
      push(commands, kWhole);
      target.begin(commands);
      set_draw_state(context(), commands,
                     {.extent = kExtent, .topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_STRIP});
      unbind_graphics_shaders(context(), commands);
      graphics.bind(commands);
      vkCmdDraw(commands, 4, 1, 0, 0);
      target.end(commands);
      instrumentation.end(commands);
      full_barrier(commands);
    });
  }
  for (const uint32_t first : {0, 3}) {
    const auto counts = [&](VkShaderStageFlagBits stage, std::span<const uint32_t> code,
                            uint32_t result) {
      return Counts(instrumentation, stage, code, result).invocations();
    };
    EXPECT_EQ(counts(VK_SHADER_STAGE_COMPUTE_BIT, add_comp, first), 24u);
    EXPECT_EQ(counts(VK_SHADER_STAGE_COMPUTE_BIT, add_comp, first + 1), 16u);
    EXPECT_EQ(counts(VK_SHADER_STAGE_VERTEX_BIT, rectangle_vert, first + 2), 4u);
    EXPECT_EQ(counts(VK_SHADER_STAGE_FRAGMENT_BIT, branchy_frag, first + 2), kPixels);
  }
}

class HeapLibraries : public HeapsTest {
 protected:
  void SetUp() override {
    if (!Context().has_extension(VK_EXT_GRAPHICS_PIPELINE_LIBRARY_EXTENSION_NAME)) {
      GTEST_SKIP() << "no pipeline libraries";
    }
    if (!start_heaps({}, {.device_extensions = {VK_KHR_PIPELINE_LIBRARY_EXTENSION_NAME,
                                                VK_EXT_GRAPHICS_PIPELINE_LIBRARY_EXTENSION_NAME},
                          .device_next = &feature_})) {
      GTEST_SKIP() << missing();
    }
  }
  Pipeline make_library(std::vector<Stage> stages, VkGraphicsPipelineLibraryFlagsEXT parts,
                        uint64_t pipeline_flags = kCountingHeapBits) {
    const VkGraphicsPipelineLibraryCreateInfoEXT library{
        VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_LIBRARY_CREATE_INFO_EXT, nullptr, parts};
    const VkPipelineCreateFlags2CreateInfoKHR flags{
        VK_STRUCTURE_TYPE_PIPELINE_CREATE_FLAGS_2_CREATE_INFO_KHR, &library,
        pipeline_flags | VK_PIPELINE_CREATE_LIBRARY_BIT_KHR};
    return make_graphics_pipeline(context(), {.stages = std::move(stages),
                                              .topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_STRIP,
                                              .next = &flags});
  }
  Pipeline link(std::initializer_list<VkPipeline> parts) {
    const VkPipelineLibraryCreateInfoKHR libraries{
        VK_STRUCTURE_TYPE_PIPELINE_LIBRARY_CREATE_INFO_KHR, nullptr,
        static_cast<uint32_t>(parts.size()), parts.begin()};
    const VkPipelineCreateFlags2CreateInfoKHR flags{
        VK_STRUCTURE_TYPE_PIPELINE_CREATE_FLAGS_2_CREATE_INFO_KHR, &libraries, kCountingHeapBits};
    const VkGraphicsPipelineCreateInfo info{
        .sType = VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO, .pNext = &flags};
    VkPipeline handle = VK_NULL_HANDLE;
    check(vkCreateGraphicsPipelines(context().device(), {}, 1, &info, nullptr, &handle));
    return {context().device(), handle};
  }

 private:
  VkPhysicalDeviceGraphicsPipelineLibraryFeaturesEXT feature_ = {
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_GRAPHICS_PIPELINE_LIBRARY_FEATURES_EXT, nullptr, VK_TRUE};
};

TEST_F(HeapLibraries, count_when_they_are_linked) {
  const Pipeline before =
      make_library({{VK_SHADER_STAGE_VERTEX_BIT, rectangle_vert}},
                   VK_GRAPHICS_PIPELINE_LIBRARY_VERTEX_INPUT_INTERFACE_BIT_EXT |
                       VK_GRAPHICS_PIPELINE_LIBRARY_PRE_RASTERIZATION_SHADERS_BIT_EXT);
  const Pipeline after =
      make_library({{VK_SHADER_STAGE_FRAGMENT_BIT, branchy_frag}},
                   VK_GRAPHICS_PIPELINE_LIBRARY_FRAGMENT_SHADER_BIT_EXT |
                       VK_GRAPHICS_PIPELINE_LIBRARY_FRAGMENT_OUTPUT_INTERFACE_BIT_EXT);
  const Pipeline pipeline = link({before, after});
  const RenderTarget target(context(), {.extent = kExtent});
  const Instrumentation instrumentation(context());
  context().run([&](VkCommandBuffer commands) {
    instrumentation.begin(commands);
    push(commands, kWhole);
    target.begin(commands);
    vkCmdBindPipeline(commands, kGraphics, pipeline);
    vkCmdDraw(commands, 4, 1, 0, 0);
    target.end(commands);
    instrumentation.end(commands);
    full_barrier(commands);
  });
  const Counts fragments(instrumentation, VK_SHADER_STAGE_FRAGMENT_BIT, branchy_frag, 0);
  EXPECT_EQ(fragments.invocations(), kPixels);
  const Counts vertices(instrumentation, VK_SHADER_STAGE_VERTEX_BIT, rectangle_vert, 0);
  EXPECT_GE(vertices.invocations(), 4u);
}

// The push data of the fragment shader fill 256 bytes. A library without the flag cannot be
// changed.
TEST_F(HeapLibraries, whose_push_data_fill_all_bytes_draw_the_same) {
  if (max_push_data(Context(without_counters())) < 256) GTEST_SKIP() << "fewer bytes of push data";
  const Pipeline before =
      make_library({{VK_SHADER_STAGE_VERTEX_BIT, rectangle_vert}},
                   VK_GRAPHICS_PIPELINE_LIBRARY_VERTEX_INPUT_INTERFACE_BIT_EXT |
                       VK_GRAPHICS_PIPELINE_LIBRARY_PRE_RASTERIZATION_SHADERS_BIT_EXT);
  std::array<uint32_t, 64> words{};
  for (uint32_t i = 8; i < words.size(); ++i) words[i] = i % 17;
  std::memcpy(words.data(), &kWhole, sizeof kWhole);
  const RenderTarget target(context(), {.extent = kExtent});
  const auto draw = [&](uint64_t fragment_flags, const Instrumentation& instrumentation) {
    const Pipeline behind =
        make_library({{VK_SHADER_STAGE_FRAGMENT_BIT, full_frag}},
                     VK_GRAPHICS_PIPELINE_LIBRARY_FRAGMENT_SHADER_BIT_EXT |
                         VK_GRAPHICS_PIPELINE_LIBRARY_FRAGMENT_OUTPUT_INTERFACE_BIT_EXT,
                     fragment_flags);
    const Pipeline pipeline = link({before, behind});
    context().run([&](VkCommandBuffer commands) {
      instrumentation.begin(commands);
      push(commands, words);
      target.begin(commands);
      vkCmdBindPipeline(commands, kGraphics, pipeline);
      vkCmdDraw(commands, 4, 1, 0, 0);
      target.end(commands);
      instrumentation.end(commands);
      full_barrier(commands);
    });
    return target.read();
  };
  const Instrumentation counted(context());
  const std::vector<uint32_t> picture = draw(kCountingHeapBits, counted);
  const Counts fragments(counted, VK_SHADER_STAGE_FRAGMENT_BIT, full_frag, 0);
  EXPECT_EQ(fragments.invocations(), kPixels);
  EXPECT_FALSE(has_message("TALLY-uninstrumented-shader"));
  const Instrumentation uncounted(context());
  EXPECT_EQ(draw(kHeapBit, uncounted), picture);
  EXPECT_TRUE(has_message("TALLY-uninstrumented-shader"));
  uint32_t red = 0;
  for (uint32_t i = 8; i < words.size(); i += 4) red += words[i];
  EXPECT_EQ(picture[0] & 0xff, red);
}

}  // namespace
}  // namespace tally::test
