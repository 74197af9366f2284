// Compares counts of ray-tracing shaders with values computed by hand.
#include <algorithm>

#include "known_answers/ray_answers.h"
#include "ray_query.comp.h"
#include "support/spirv.h"

namespace tally::test {
namespace {

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
  const VkCommandBuffer secondary = context_->begin_secondary();
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

// Other runs may load the binaries. The driver that stands for others ends the process otherwise.
TEST_F(RayAnswers, pipelines_whose_binaries_are_captured_run_uncounted) {
  start({}, {"VK_LAYER_TALLY_test_uncounted_driver"});
  constexpr uint64_t kCaptureData = 0x80000000;
  RayPipelineInfo info = whole_pipeline();
  info.flags = kCaptureData;
  const Pipeline pipeline = make_ray_pipeline(*context_, info);
  measure(pipeline);
  EXPECT_EQ(take_image(), expected_image());
  EXPECT_TRUE(instrumentation_->read().empty());
  EXPECT_TRUE(std::ranges::any_of(context_->messages(), [](const Message& message) {
    return message.text.find("its binaries would contain") != std::string::npos;
  }));
}

// On the layer that stands for a driver where the driver cannot replay them. The captured handles
// depend on the shaders, as it may on a driver.
class RayReplay : public RayAnswers {
 protected:
  void start_replay() {
    const bool native = RayTracingDevice::supports_handle_replay(Context());
    start([](RayTracingDevice& rays) { rays.enable_handle_replay(); },
          native ? std::vector<const char*>()
                 : std::vector{"VK_LAYER_TALLY_test_performance_driver"});
  }
  // The create info of a pipeline that does not outlive this.
  std::vector<std::byte> capture(bool instrumented) {
    RayPipelineInfo info = whole_pipeline(instrumented);
    info.flags = kFlag;
    const Pipeline pipeline = make_ray_pipeline(*context_, info);
    return group_handles(*context_, pipeline, kGroups,
                         "vkGetRayTracingCaptureReplayShaderGroupHandlesKHR");
  }
  Pipeline replay(const std::vector<std::byte>& captured) {
    RayPipelineInfo info = whole_pipeline();
    info.flags = kFlag;
    for (uint32_t i = 0; i < kGroups; ++i) {
      info.groups[i].replay_handle = captured.data() + i * (captured.size() / kGroups);
    }
    return make_ray_pipeline(*context_, info);
  }

  static constexpr VkPipelineCreateFlags kFlag =
      VK_PIPELINE_CREATE_RAY_TRACING_SHADER_GROUP_HANDLE_CAPTURE_REPLAY_BIT_KHR;
  static inline const auto kGroups = static_cast<uint32_t>(kAllGroups.size());
};

TEST_F(RayReplay, handles_that_were_captured_with_counters_are_replayed_with_counters) {
  start_replay();
  const std::vector<std::byte> captured = capture(true);
  const Pipeline pipeline = replay(captured);
  measure(pipeline);
  EXPECT_EQ(take_image(), expected_image());
  expect_known_answers();
}

TEST_F(RayReplay, handles_that_were_captured_without_counters_are_replayed) {
  start_replay();
  const std::vector<std::byte> captured = capture(false);
  const Pipeline pipeline = replay(captured);
  measure(pipeline);
  EXPECT_EQ(take_image(), expected_image());
  const auto messages = context_->messages();
  const bool counted = !instrumentation_->read().empty();
  EXPECT_NE(counted, std::ranges::any_of(messages, [](const Message& message) {
              return message.text.find("ray-tracing pipelines run uninstrumented") !=
                     std::string::npos;
            }));
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
  start({}, {"VK_LAYER_TALLY_test_performance_driver"});
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
