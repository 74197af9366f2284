// Compares counts of ray-tracing shaders with values computed by hand.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <optional>

#include "known_answers/ray_scene.h"
#include "ray_query.comp.h"
#include "support/instrumentation.h"
#include "support/spirv.h"

namespace tally::test {
namespace {

constexpr uint32_t kSeed = 40;

// The texels that rays.rgen writes.
std::vector<uint32_t> expected_image() {
  std::vector<uint32_t> texels;
  for (uint32_t y = 0; y < kSide; ++y) {
    for (uint32_t x = 0; x < kSide; ++x) {
      uint32_t color = x < 4 ? 2 : 1;
      uint32_t weight = 0;
      if (y < 4 && x >= 4) color = 16 + 7;
      if (y >= 4 && x < 4) {
        if (x != 0) color = 17;
        weight = x == 0 ? 1 : (x == 1 ? 6 : 10);
      }
      if (y >= 4 && x > 4) {
        color = 32 + (x == 6 ? 1 : 0);
        weight = x == 6 ? 2 : (x == 7 ? 17 : 1);
      }
      uint32_t texel = color + weight * 256 + kSeed;
      if (y == 7) texel += 65536 * (x % 2 == 0 ? x * (x - 1) / 2 : (x > 4 ? 200 : 100));
      texels.push_back(texel);
    }
  }
  return texels;
}

class RayAnswers : public testing::Test {
 protected:
  void start(const std::function<void(RayTracingDevice&)>& enable = {},
             std::vector<const char*> driver_layers = {}) {
    VkPhysicalDeviceShaderInstrumentationFeaturesARM instrumentation = {
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INSTRUMENTATION_FEATURES_ARM, nullptr, VK_TRUE};
    RayTracingDevice rays(&instrumentation);
    if (enable) enable(rays);
    context_.emplace(
        rays.options({.layers = {"VK_LAYER_TALLY_counters"},
                      .driver_layers = std::move(driver_layers),
                      .device_extensions = {VK_ARM_SHADER_INSTRUMENTATION_EXTENSION_NAME}}));
    scene_.emplace(*context_, kRectangles, std::span(&kBox, 1));
    image_.emplace(*context_, kSide * kSide * sizeof(uint32_t));
    set_.emplace(*context_, *scene_, *image_);
    layout_ = make_pipeline_layout(*context_, {{set_->layout()}}, 4);
    instrumentation_.emplace(*context_);
  }
  void SetUp() override {
    const Context plain;
    if (!RayTracingDevice::supported(plain)) GTEST_SKIP() << "no ray-tracing pipelines";
  }

  RayPipelineInfo whole_pipeline(bool instrumented = true) const {
    return {.stages = kAllStages,
            .groups = kAllGroups,
            .layout = layout_,
            .instrumented = instrumented};
  }
  BindingTable table_of(VkPipeline pipeline) const {
    return {*context_, pipeline, static_cast<uint32_t>(kAllGroups.size()), kParts};
  }
  void bind(VkCommandBuffer commands, VkPipeline pipeline) const {
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_RAY_TRACING_KHR, pipeline);
    set_->bind(commands, layout_);
    vkCmdPushConstants(commands, layout_, VK_SHADER_STAGE_ALL, 0, sizeof kSeed, &kSeed);
  }
  void trace(VkCommandBuffer commands, const BindingTable& table, uint32_t height = kSide) const {
    trace_rays(*context_, commands, table, kSide, height);
  }
  // Traces the image once, counted.
  void measure(VkPipeline pipeline) { measure(pipeline, table_of(pipeline)); }
  void measure(VkPipeline pipeline, const BindingTable& table) {
    context_->run([&](VkCommandBuffer commands) {
      instrumentation_->begin(commands);
      bind(commands, pipeline);
      trace(commands, table);
      instrumentation_->end(commands);
      full_barrier(commands);
    });
  }
  std::vector<uint32_t> take_image() {
    const auto texels = image_->as<uint32_t>();
    std::vector<uint32_t> image(texels.begin(), texels.end());
    image_->clear();
    return image;
  }
  Counts counts(uint32_t stage, std::optional<uint32_t> result = std::nullopt) const {
    const Stage& shader = kAllStages[stage];
    return Counts(*instrumentation_, shader.stage, shader.code, result, sub_indices_[stage]);
  }
  void expect_known_answers(std::optional<uint32_t> result = std::nullopt) const {
    EXPECT_EQ(counts(kRays, result).invocations(), 64u);
    EXPECT_EQ(counts(kRays, result).at("calls"), 8u);
    // Nothing, ignored hits, column 4 of the box.
    EXPECT_EQ(counts(kSky, result).invocations(), 16u + 4 + 4);
    EXPECT_EQ(counts(kSky, result).at("left"), 16u + 4);
    EXPECT_EQ(counts(kLit, result).invocations(), 16u);
    EXPECT_EQ(counts(kSurface, result).invocations(), 16u + 12);
    EXPECT_EQ(counts(kSurface, result).at("first"), 16u);
    EXPECT_EQ(counts(kLeaf, result).invocations(), 16u);
    EXPECT_EQ(counts(kLeaf, result).at("ignored"), 4u);
    EXPECT_EQ(counts(kLeaf, result).at("ended"), 4u);
    EXPECT_EQ(counts(kBoxIntersection, result).invocations(), 16u);
    EXPECT_EQ(counts(kBoxIntersection, result).at("round"), 4u * (1 + 2 + 1));
    EXPECT_EQ(counts(kBoxIntersection, result).at("accepted"), 4u * (1 + 2));
    EXPECT_EQ(counts(kBoxIntersection, result).at("some"), 4u * 2);
    EXPECT_EQ(counts(kBoxAnyHit, result).invocations(), 4u * (1 + 2 + 1));
    EXPECT_EQ(counts(kBoxAnyHit, result).at("ended"), 4u);
    EXPECT_EQ(counts(kBoxHit, result).invocations(), 12u);
    EXPECT_EQ(counts(kEven, result).invocations(), 4u);
    EXPECT_EQ(counts(kEven, result).at("round"), 0u + 2 + 4 + 6);
    EXPECT_EQ(counts(kOdd, result).invocations(), 4u);
    EXPECT_EQ(counts(kOdd, result).at("high"), 2u);
  }

  // Destroyed in reverse order.
  std::optional<Context> context_;
  std::optional<RayScene> scene_;
  std::optional<Buffer> image_;
  std::optional<RaySet> set_;
  PipelineLayout layout_;
  std::optional<Instrumentation> instrumentation_;
  // By stage of kAllStages: the resultSubIndex.
  std::array<uint32_t, kStages> sub_indices_ = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
};

TEST_F(RayAnswers, every_block_of_every_stage_is_counted_as_often_as_it_runs) {
  start();
  const Pipeline pipeline = make_ray_pipeline(*context_, whole_pipeline());
  measure(pipeline);
  EXPECT_EQ(take_image(), expected_image());
  expect_known_answers();
  EXPECT_EQ(counts(kRays).total("ray_traversals"), 64u + 8);
}

TEST_F(RayAnswers, results_are_in_the_order_of_the_stages) {
  start();
  const Pipeline pipeline = make_ray_pipeline(*context_, whole_pipeline());
  measure(pipeline);
  std::vector<std::pair<uint32_t, uint32_t>> order;
  for (const BlockValues& block : instrumentation_->read()) {
    const auto& header = block.header;
    ASSERT_LT(header.resultSubIndex, kStages);
    EXPECT_EQ(header.stages,
              static_cast<VkShaderStageFlags>(kAllStages[header.resultSubIndex].stage));
    order.emplace_back(header.resultSubIndex, header.basicBlockIndex);
  }
  EXPECT_TRUE(std::ranges::is_sorted(order));
  EXPECT_EQ(order.back().first, kOdd);
}

TEST_F(RayAnswers, the_image_is_the_same_without_instrumentation) {
  start();
  const Pipeline pipeline = make_ray_pipeline(*context_, whole_pipeline(false));
  measure(pipeline);
  EXPECT_EQ(take_image(), expected_image());
  EXPECT_TRUE(instrumentation_->read().empty());
}

TEST_F(RayAnswers, nothing_is_counted_where_no_instrumentation_is_active) {
  start();
  const Pipeline pipeline = make_ray_pipeline(*context_, whole_pipeline());
  const BindingTable table = table_of(pipeline);
  context_->run([&](VkCommandBuffer commands) {
    bind(commands, pipeline);
    trace(commands, table);
    instrumentation_->begin(commands);
    trace(commands, table);
    instrumentation_->end(commands);
    trace(commands, table);
    full_barrier(commands);
  });
  EXPECT_EQ(take_image(), expected_image());
  expect_known_answers();
  context_->run([&](VkCommandBuffer commands) {
    bind(commands, pipeline);
    trace(commands, table);
    full_barrier(commands);
  });
  EXPECT_EQ(take_image(), expected_image());
  expect_known_answers();
}

TEST_F(RayAnswers, each_trace_has_counts_of_its_own) {
  start();
  const Pipeline pipeline = make_ray_pipeline(*context_, whole_pipeline());
  const BindingTable table = table_of(pipeline);
  context_->run([&](VkCommandBuffer commands) {
    instrumentation_->begin(commands);
    bind(commands, pipeline);
    trace(commands, table);
    full_barrier(commands);
    trace(commands, table, 2);
    trace(commands, table, 0);
    full_barrier(commands);
    // Constants that the application pushes between traces.
    vkCmdPushConstants(commands, layout_, VK_SHADER_STAGE_ALL, 0, sizeof kSeed, &kSeed);
    trace(commands, table);
    instrumentation_->end(commands);
    full_barrier(commands);
  });
  EXPECT_EQ(take_image(), expected_image());
  expect_known_answers(0);
  EXPECT_EQ(counts(kRays, 1).invocations(), 16u);
  EXPECT_EQ(counts(kSky, 1).invocations(), 8u);
  EXPECT_EQ(counts(kLit, 1).invocations(), 8u);
  EXPECT_EQ(counts(kRays, 2).invocations(), 0u);
  expect_known_answers(3);
}

TEST_F(RayAnswers, indirect_traces_are_counted_by_what_the_memory_says) {
  start();
  const Pipeline pipeline = make_ray_pipeline(*context_, whole_pipeline());
  const BindingTable table = table_of(pipeline);
  const Buffer arguments(
      *context_, sizeof(VkTraceRaysIndirectCommandKHR),
      VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT);
  arguments.as<VkTraceRaysIndirectCommandKHR>()[0] = {kSide, kSide, 1};
  const auto trace_indirect =
      context_->function<PFN_vkCmdTraceRaysIndirectKHR>("vkCmdTraceRaysIndirectKHR");
  context_->run([&](VkCommandBuffer commands) {
    instrumentation_->begin(commands);
    bind(commands, pipeline);
    const auto& regions = table.regions();
    trace_indirect(commands, &regions[0], &regions[1], &regions[2], &regions[3],
                   arguments.address());
    instrumentation_->end(commands);
    full_barrier(commands);
  });
  EXPECT_EQ(take_image(), expected_image());
  expect_known_answers(0);
}

TEST_F(RayAnswers, indirect_traces_with_their_table_in_memory_are_counted) {
  if (!RayTracingDevice::supports_indirect2(Context()))
    GTEST_SKIP() << "no vkCmdTraceRaysIndirect2KHR";
  start([](RayTracingDevice& rays) { rays.enable_indirect2(); });
  const Pipeline pipeline = make_ray_pipeline(*context_, whole_pipeline());
  const BindingTable table = table_of(pipeline);
  const Buffer arguments(
      *context_, sizeof(VkTraceRaysIndirectCommand2KHR),
      VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT);
  const auto& regions = table.regions();
  const auto part = [&](size_t i) { return regions[i]; };
  arguments.as<VkTraceRaysIndirectCommand2KHR>()[0] = {part(0).deviceAddress,
                                                       part(0).size,
                                                       part(1).deviceAddress,
                                                       part(1).size,
                                                       part(1).stride,
                                                       part(2).deviceAddress,
                                                       part(2).size,
                                                       part(2).stride,
                                                       part(3).deviceAddress,
                                                       part(3).size,
                                                       part(3).stride,
                                                       kSide,
                                                       kSide,
                                                       1};
  const auto trace_indirect =
      context_->function<PFN_vkCmdTraceRaysIndirect2KHR>("vkCmdTraceRaysIndirect2KHR");
  context_->run([&](VkCommandBuffer commands) {
    instrumentation_->begin(commands);
    bind(commands, pipeline);
    trace_indirect(commands, arguments.address());
    instrumentation_->end(commands);
    full_barrier(commands);
  });
  EXPECT_EQ(take_image(), expected_image());
  expect_known_answers(0);
}

// The record pointer is then in a descriptor set.
TEST_F(RayAnswers, push_constants_of_the_application_may_take_all_bytes) {
  start();
  layout_ = make_pipeline_layout(*context_, {{set_->layout()}},
                                 context_->properties().limits.maxPushConstantsSize);
  const Pipeline pipeline = make_ray_pipeline(*context_, whole_pipeline());
  const BindingTable table = table_of(pipeline);
  context_->run([&](VkCommandBuffer commands) {
    bind(commands, pipeline);
    trace(commands, table);
    instrumentation_->begin(commands);
    trace(commands, table);
    instrumentation_->end(commands);
    full_barrier(commands);
  });
  EXPECT_EQ(take_image(), expected_image());
  expect_known_answers();
}

TEST_F(RayAnswers, traces_of_secondary_command_buffers_are_counted) {
  start();
  const Pipeline pipeline = make_ray_pipeline(*context_, whole_pipeline());
  const BindingTable table = table_of(pipeline);
  VkCommandBufferAllocateInfo allocate = {VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO};
  allocate.commandPool = context_->command_pool();
  allocate.level = VK_COMMAND_BUFFER_LEVEL_SECONDARY;
  allocate.commandBufferCount = 1;
  VkCommandBuffer secondary = VK_NULL_HANDLE;
  check(vkAllocateCommandBuffers(context_->device(), &allocate, &secondary));
  const VkCommandBufferInheritanceInfo inheritance = {
      VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_INFO};
  const VkCommandBufferBeginInfo begin = {VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO, nullptr, 0,
                                          &inheritance};
  check(vkBeginCommandBuffer(secondary, &begin));
  bind(secondary, pipeline);
  instrumentation_->begin(secondary);
  trace(secondary, table);
  instrumentation_->end(secondary);
  trace(secondary, table);
  check(vkEndCommandBuffer(secondary));
  context_->run([&](VkCommandBuffer commands) {
    bind(commands, pipeline);
    trace(commands, table);
    full_barrier(commands);
    vkCmdExecuteCommands(commands, 1, &secondary);
    full_barrier(commands);
  });
  EXPECT_EQ(take_image(), expected_image());
  expect_known_answers();
}

TEST_F(RayAnswers, a_pipeline_whose_creation_may_be_deferred_counts) {
  start();
  RayPipelineInfo info = whole_pipeline();
  info.deferred = true;
  const Pipeline pipeline = make_ray_pipeline(*context_, info);
  measure(pipeline);
  EXPECT_EQ(take_image(), expected_image());
  expect_known_answers();
}

// The stages of kAllStages in libraries: [general shaders], [triangles], [boxes].
class RayLibraries : public RayAnswers {
 protected:
  Pipeline make_library(std::span<const uint32_t> stages, std::vector<RayGroup> groups,
                        bool instrumented = true) {
    RayPipelineInfo info{.groups = std::move(groups),
                         .layout = layout_,
                         .flags = VK_PIPELINE_CREATE_LIBRARY_BIT_KHR,
                         .instrumented = instrumented,
                         .interface = true};
    for (const uint32_t stage : stages) info.stages.push_back(kAllStages[stage]);
    return make_ray_pipeline(*context_, info);
  }
  Pipeline make_triangles(bool instrumented = true) {
    constexpr uint32_t kOwn[] = {kSurface, kLeaf};
    return make_library(kOwn, {{.closest_hit = 0}, {.closest_hit = 0, .any_hit = 1}}, instrumented);
  }
  Pipeline make_boxes() {
    constexpr uint32_t kOwn[] = {kBoxHit, kBoxIntersection, kBoxAnyHit};
    return make_library(kOwn, {{.closest_hit = 0, .any_hit = 2, .intersection = 1}});
  }
  Pipeline make_callables() {
    constexpr uint32_t kOwn[] = {kEven, kOdd};
    return make_library(kOwn, {{.general = 0}, {.general = 1}});
  }
  // Ray generation and miss shaders, linked with libraries.
  Pipeline link(std::vector<VkPipeline> libraries) {
    return make_ray_pipeline(*context_, {.stages = {kAllStages.begin(), kAllStages.begin() + 3},
                                         .groups = {kAllGroups.begin(), kAllGroups.begin() + 3},
                                         .layout = layout_,
                                         .libraries = std::move(libraries),
                                         .interface = true});
  }
};

TEST_F(RayLibraries, stages_of_libraries_are_counted_after_the_pipelines_own) {
  start();
  const Pipeline triangles = make_triangles();
  const Pipeline boxes = make_boxes();
  const Pipeline callables = make_callables();
  const Pipeline pipeline = link({triangles, boxes, callables});
  measure(pipeline);
  EXPECT_EQ(take_image(), expected_image());
  expect_known_answers();
}

TEST_F(RayLibraries, libraries_may_be_linked_more_than_once_and_replaced) {
  start();
  const Pipeline callables = make_callables();
  const Pipeline boxes = make_boxes();
  Pipeline triangles = make_triangles();
  const Pipeline first = link({triangles, boxes, callables});
  const Pipeline second = link({triangles, boxes, callables});
  // The tables are made early: validation layer 1.3.239 looks for the libraries when it is asked
  // for handles.
  const BindingTable tables[] = {table_of(first), table_of(second)};
  // A new library may take the place of one that was destroyed.
  triangles.reset();
  triangles = make_triangles();
  const Pipeline third = link({triangles, boxes, callables});
  const BindingTable third_table = table_of(third);
  triangles.reset();
  const std::pair<VkPipeline, const BindingTable*> all[] = {
      {first, &tables[0]}, {second, &tables[1]}, {third, &third_table}};
  for (const auto& [pipeline, table] : all) {
    instrumentation_.emplace(*context_);
    measure(pipeline, *table);
    EXPECT_EQ(take_image(), expected_image());
    expect_known_answers();
  }
}

TEST_F(RayLibraries, a_library_may_be_made_of_libraries) {
  start();
  Pipeline triangles = make_triangles();
  Pipeline boxes = make_boxes();
  const Pipeline hits = make_ray_pipeline(*context_, {.layout = layout_,
                                                      .libraries = {triangles, boxes},
                                                      .flags = VK_PIPELINE_CREATE_LIBRARY_BIT_KHR,
                                                      .interface = true});
  const Pipeline callables = make_callables();
  const Pipeline pipeline = link({hits, callables});
  const BindingTable table = table_of(pipeline);
  triangles.reset();
  boxes.reset();
  measure(pipeline, table);
  EXPECT_EQ(take_image(), expected_image());
  expect_known_answers();
}

TEST_F(RayLibraries, a_stage_that_is_linked_twice_is_reported_once) {
  start();
  const Pipeline boxes = make_boxes();
  const Pipeline callables = make_callables();
  for (const bool instrumented : {false, true}) {
    const Pipeline triangles = make_triangles(instrumented);
    const Pipeline hits = make_ray_pipeline(*context_, {.layout = layout_,
                                                        .libraries = {triangles},
                                                        .flags = VK_PIPELINE_CREATE_LIBRARY_BIT_KHR,
                                                        .instrumented = instrumented,
                                                        .interface = true});
    const Pipeline pipeline = link({hits, triangles, boxes, callables});
    const BindingTable table(*context_, pipeline, 10, {0, {1, 2}, {3, 6, 7}, {8, 9}});
    instrumentation_.emplace(*context_);
    measure(pipeline, table);
    const bool right = take_image() == expected_image();
    if (!instrumented && !right) GTEST_SKIP() << "the driver runs such a stage twice";
    EXPECT_TRUE(right);
  }
  sub_indices_ = {0, 1, 2, 3, 4, 7, 8, 9, 10, 11};
  expect_known_answers();
  for (const BlockValues& block : instrumentation_->read()) {
    EXPECT_NE(block.header.resultSubIndex, 5u);
    EXPECT_NE(block.header.resultSubIndex, 6u);
  }
}

TEST_F(RayLibraries, stages_of_a_library_without_the_flag_are_not_counted) {
  start();
  const Pipeline triangles = make_triangles(false);
  const Pipeline boxes = make_boxes();
  const Pipeline callables = make_callables();
  const Pipeline pipeline = link({triangles, boxes, callables});
  measure(pipeline);
  EXPECT_EQ(take_image(), expected_image());
  EXPECT_EQ(counts(kRays).invocations(), 64u);
  EXPECT_EQ(counts(kBoxAnyHit).invocations(), 16u);
  EXPECT_EQ(counts(kOdd).at("high"), 2u);
  for (const BlockValues& block : instrumentation_->read()) {
    EXPECT_NE(block.header.resultSubIndex, kSurface);
    EXPECT_NE(block.header.resultSubIndex, kLeaf);
  }
}

TEST_F(RayLibraries, a_pipeline_without_the_flag_counts_nothing_whatever_its_libraries_have) {
  start();
  const Pipeline triangles = make_triangles();
  const Pipeline boxes = make_boxes();
  const Pipeline callables = make_callables();
  const Pipeline pipeline =
      make_ray_pipeline(*context_, {.stages = {kAllStages.begin(), kAllStages.begin() + 3},
                                    .groups = {kAllGroups.begin(), kAllGroups.begin() + 3},
                                    .layout = layout_,
                                    .libraries = {triangles, boxes, callables},
                                    .instrumented = false,
                                    .interface = true});
  measure(pipeline);
  EXPECT_EQ(take_image(), expected_image());
  EXPECT_TRUE(instrumentation_->read().empty());
}

TEST_F(RayAnswers, group_handles_can_be_captured_and_replayed) {
  if (!RayTracingDevice::supports_handle_replay(Context())) GTEST_SKIP() << "no replay of handles";
  start([](RayTracingDevice& rays) { rays.enable_handle_replay(); });
  constexpr const char* kCapture = "vkGetRayTracingCaptureReplayShaderGroupHandlesKHR";
  constexpr VkPipelineCreateFlags kFlag =
      VK_PIPELINE_CREATE_RAY_TRACING_SHADER_GROUP_HANDLE_CAPTURE_REPLAY_BIT_KHR;
  RayPipelineInfo info = whole_pipeline();
  info.flags = kFlag;
  const uint32_t groups = static_cast<uint32_t>(kAllGroups.size());
  std::vector<std::byte> captured, handles;
  {
    const Pipeline pipeline = make_ray_pipeline(*context_, info);
    captured = group_handles(*context_, pipeline, groups, kCapture);
    handles = group_handles(*context_, pipeline, groups);
  }
  for (uint32_t i = 0; i < groups; ++i) {
    info.groups[i].replay_handle = captured.data() + i * (captured.size() / groups);
  }
  const Pipeline pipeline = make_ray_pipeline(*context_, info);
  EXPECT_EQ(group_handles(*context_, pipeline, groups), handles);
  measure(pipeline);
  EXPECT_EQ(take_image(), expected_image());
  expect_known_answers();
}

TEST_F(RayAnswers, null_handles_in_the_binding_table_run_nothing) {
  start();
  const Pipeline pipeline = make_ray_pipeline(*context_, whole_pipeline());
  constexpr uint32_t kNull = VK_SHADER_UNUSED_KHR;
  const BindingTable table(*context_, pipeline, static_cast<uint32_t>(kAllGroups.size()),
                           {0, {kNull, 2}, {3, 4, kNull}, {6, 7}});
  context_->run([&](VkCommandBuffer commands) {
    instrumentation_->begin(commands);
    bind(commands, pipeline);
    trace(commands, table);
    instrumentation_->end(commands);
    full_barrier(commands);
  });
  EXPECT_EQ(counts(kRays).invocations(), 64u);
  EXPECT_EQ(counts(kSurface).invocations(), 16u + 12);
  EXPECT_EQ(counts(kLit).invocations(), 16u);
  EXPECT_EQ(counts(kSky).invocations(), 0u);
  EXPECT_EQ(counts(kBoxIntersection).invocations(), 0u);
  EXPECT_EQ(counts(kBoxHit).invocations(), 0u);
}

// Does what odd.rcall does, with an address of its push constants, which the pass does not know.
constexpr const char* kRefusedCallable = R"(
  OpCapability RayTracingKHR
  OpExtension "SPV_KHR_ray_tracing"
  OpMemoryModel Logical GLSL450
  OpEntryPoint CallableKHR %main "main" %call %push
  OpMemberDecorate %Push 0 Offset 0
  OpDecorate %Push Block
  %void = OpTypeVoid
  %function = OpTypeFunction %void
  %bool = OpTypeBool
  %uint = OpTypeInt 32 0
  %uint_0 = OpConstant %uint 0
  %uint_1 = OpConstant %uint 1
  %uint_4 = OpConstant %uint 4
  %uint_60 = OpConstant %uint 60
  %uint_160 = OpConstant %uint 160
  %pair = OpTypeVector %uint 2
  %to_pair = OpTypePointer IncomingCallableDataKHR %pair
  %to_part = OpTypePointer IncomingCallableDataKHR %uint
  %call = OpVariable %to_pair IncomingCallableDataKHR
  %Push = OpTypeStruct %uint
  %to_push = OpTypePointer PushConstant %Push
  %to_seed = OpTypePointer PushConstant %uint
  %push = OpVariable %to_push PushConstant
  %main = OpFunction %void None %function
  %start = OpLabel
  %copy = OpCopyObject %to_push %push
  %seed_at = OpAccessChain %to_seed %copy %uint_0
  %seed = OpLoad %uint %seed_at
  %x_at = OpAccessChain %to_part %call %uint_0
  %x = OpLoad %uint %x_at
  %high = OpUGreaterThan %bool %x %uint_4
  %base = OpSelect %uint %high %uint_160 %uint_60
  %sum = OpIAdd %uint %base %seed
  %y_at = OpAccessChain %to_part %call %uint_1
  OpStore %y_at %sum
  OpReturn
  OpFunctionEnd
)";

TEST_F(RayAnswers, a_stage_that_cannot_be_instrumented_runs_and_the_others_are_counted) {
  start();
  const std::vector<uint32_t> refused = assemble(kRefusedCallable);
  RayPipelineInfo info = whole_pipeline();
  info.stages[kOdd].code = refused;
  const Pipeline pipeline = make_ray_pipeline(*context_, info);
  const std::vector<Message> messages = context_->messages();
  EXPECT_EQ(
      std::ranges::count_if(messages,
                            [](const Message& message) {
                              return message.text.find("a callable shader") != std::string::npos &&
                                     message.text.find(
                                         "runs uninstrumented: it takes the "
                                         "address of its push-constant block") != std::string::npos;
                            }),
      1);
  measure(pipeline);
  EXPECT_EQ(take_image(), expected_image());
  EXPECT_EQ(counts(kRays).invocations(), 64u);
  EXPECT_EQ(counts(kEven).at("round"), 12u);
  for (const BlockValues& block : instrumentation_->read()) {
    EXPECT_LT(block.header.resultSubIndex, kOdd);
  }
}

TEST_F(RayAnswers, a_pipeline_that_the_driver_rejects_with_our_code_runs_without_it) {
  start({}, {"VK_LAYER_TALLY_test_driver"});
  setenv("TALLY_TEST_REFUSE_INSTRUMENTED", "1", 1);
  const Pipeline pipeline = make_ray_pipeline(*context_, whole_pipeline());
  unsetenv("TALLY_TEST_REFUSE_INSTRUMENTED");
  const std::vector<Message> messages = context_->messages();
  EXPECT_EQ(std::ranges::count_if(messages,
                                  [](const Message& message) {
                                    return message.text.find(
                                               "the driver rejected their "
                                               "instrumented shaders") != std::string::npos;
                                  }),
            1);
  measure(pipeline);
  EXPECT_EQ(take_image(), expected_image());
  EXPECT_TRUE(instrumentation_->read().empty());
}

TEST_F(RayAnswers, ray_queries_of_a_compute_shader_are_counted) {
  if (!Context().has_extension(VK_KHR_RAY_QUERY_EXTENSION_NAME)) GTEST_SKIP() << "no ray queries";
  start([](RayTracingDevice& rays) { rays.enable_ray_queries(); });
  const Pipeline pipeline = make_compute_pipeline(
      *context_, {{VK_SHADER_STAGE_COMPUTE_BIT, ray_query_comp}, layout_, {}, 0, &kInstrument});
  context_->run([&](VkCommandBuffer commands) {
    instrumentation_->begin(commands);
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
    set_->bind(commands, layout_, VK_PIPELINE_BIND_POINT_COMPUTE);
    vkCmdDispatch(commands, 1, 1, 1);
    instrumentation_->end(commands);
    full_barrier(commands);
  });
  const Counts counts(*instrumentation_, VK_SHADER_STAGE_COMPUTE_BIT, ray_query_comp);
  EXPECT_EQ(counts.invocations(), 64u);
  EXPECT_EQ(counts.at("box"), 16u);
  EXPECT_EQ(counts.at("confirmed"), 12u);
  EXPECT_EQ(std::ranges::count(take_image(), 0u), 16 + 4);  // nothing was hit
}

}  // namespace
}  // namespace tally::test
