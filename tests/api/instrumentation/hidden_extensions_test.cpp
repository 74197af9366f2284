// Extensions whose shaders cannot be counted, together with counters: devices are created, what the
// extensions run is right and uncounted, and all other work is counted.
#include <tally/vulkan_newest.h>

#include <algorithm>
#include <cstring>

#include "api/kit.h"
#include "full_screen.vert.h"
#include "orange.frag.h"
#include "support/environment.h"
#include "support/every_feature.h"

namespace tally::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

constexpr const char* kDriver = "VK_LAYER_TALLY_test_uncounted_driver";
constexpr auto kFlags2 = VK_STRUCTURE_TYPE_PIPELINE_CREATE_FLAGS_2_CREATE_INFO_KHR;
constexpr uint64_t kInstrumentBit = VK_PIPELINE_CREATE_2_INSTRUMENT_SHADERS_BIT_ARM;
constexpr uint64_t kCaptureData = 0x80000000;

// --- everything, on the driver and on the one that stands for others

class Everything : public CountersTest, public testing::WithParamInterface<bool> {
 protected:
  void SetUp() override {
    if (validation_wanted()) GTEST_SKIP() << "not with the validation layer below";
    if (GetParam()) options_.driver_layers = {kDriver};
    start({}, options_);
  }

  VkResult create_alone(const std::string& extension) {
    EveryFeature features(context().gpu(), extension);
    features.leave_out(VK_ARM_SHADER_INSTRUMENTATION_EXTENSION_NAME, kOurs);
    VkPhysicalDeviceShaderInstrumentationFeaturesARM ours{kOurs, features.features(), VK_TRUE};
    std::vector<const char*> names = features.extensions();
    names.push_back(VK_ARM_SHADER_INSTRUMENTATION_EXTENSION_NAME);
    const float priority = 1;
    const VkDeviceQueueCreateInfo queue{VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                        nullptr,
                                        0,
                                        context().queue_family(),
                                        1,
                                        &priority};
    VkDeviceCreateInfo info{VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, &ours};
    info.queueCreateInfoCount = 1;
    info.pQueueCreateInfos = &queue;
    info.enabledExtensionCount = static_cast<uint32_t>(names.size());
    info.ppEnabledExtensionNames = names.data();
    VkDevice device = VK_NULL_HANDLE;
    const VkResult result = vkCreateDevice(context().gpu(), &info, nullptr, &device);
    if (result == VK_SUCCESS) vkDestroyDevice(device, nullptr);
    return result;
  }

  static constexpr VkStructureType kOurs =
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INSTRUMENTATION_FEATURES_ARM;
  ContextOptions options_;
};

TEST_P(Everything, that_is_listed_can_be_enabled_alone_with_counters) {
  const EveryFeature all(context().gpu());
  for (const std::string& extension : all.listed()) {
    EXPECT_EQ(create_alone(extension), VK_SUCCESS) << extension;
  }
}

TEST_P(Everything, that_is_listed_can_be_enabled_together_and_commands_are_counted) {
  EveryFeature all(context().gpu());
  if (GetParam()) {
    for (const auto& hidden : {"VK_KHR_pipeline_binary", "VK_NV_device_generated_commands"}) {
      EXPECT_NE(std::ranges::find(all.listed(), hidden), all.listed().end());
    }
  }
  all.leave_out(VK_ARM_SHADER_INSTRUMENTATION_EXTENSION_NAME, kOurs);
  options_.device_extensions = all.extensions();
  options_.device_next = all.features();
  options_.core_features = false;
  start({}, options_);
  EXPECT_THAT(measure(work().counting), ElementsAre(testing::Pair(0, 16)));
  const PipelineLayout layout = make_pipeline_layout(context());
  const Pipeline orange = make_orange(layout);
  const RenderTarget target(context());
  const Instrumentation instrumentation(context());
  instrumentation.run([&](VkCommandBuffer commands) { draw_orange(commands, target, orange); });
  EXPECT_EQ(results(instrumentation).at(0).second.back(), 64u * 64u);
  for (uint32_t i = 0; i < 16; ++i) EXPECT_EQ(work().values.as<uint32_t>()[i], i % 2 ? 3u : 1u);
}

INSTANTIATE_TEST_SUITE_P(OnBoth, Everything, testing::Bool(), [](const auto& one) {
  return one.param ? "the_one_with_hidden_extensions" : "the_driver";
});

// --- what each extension runs

class HiddenExtensions : public CountersTest {
 protected:
  void SetUp() override {
    if (validation_wanted()) GTEST_SKIP() << "not with the validation layer below";
  }
  void start_with(std::vector<const char*> extensions) {
    start({}, {.driver_layers = {kDriver}, .device_extensions = std::move(extensions)});
  }

  // Executions of the first block by result, and whether each value of the first groups is as if
  // `added` dispatches had added to it.
  void expect_values(std::initializer_list<uint32_t> added) {
    uint32_t i = 0;
    for (const uint32_t times : added) {
      for (const uint32_t end = i + 8; i < end; ++i) {
        EXPECT_EQ(work().values.as<uint32_t>()[i], times * (i % 2 ? 3 : 1)) << i;
      }
    }
  }
  std::vector<std::string> notices(const char* id) {
    std::vector<std::string> texts;
    for (const Message& message : context().messages()) {
      if (message.id == id) texts.push_back(message.text);
    }
    return texts;
  }
  template <typename Run>
  std::vector<std::pair<uint32_t, uint64_t>> count(const Run& run) {
    const Instrumentation instrumentation(context());
    instrumentation.run([&](VkCommandBuffer commands) {
      run(commands);
      full_barrier(commands);
    });
    return invocations(instrumentation);
  }
};

TEST_F(HiddenExtensions, are_named_once_with_what_runs_uncounted) {
  start_with({VK_NV_RAY_TRACING_EXTENSION_NAME, VK_KHR_PIPELINE_BINARY_EXTENSION_NAME});
  const auto texts = notices("TALLY-uncounted-extension");
  ASSERT_THAT(texts, SizeIs(1));
  EXPECT_THAT(texts[0], HasSubstr("VK_NV_ray_tracing (only pipelines of"));
  EXPECT_THAT(texts[0], HasSubstr("VK_KHR_pipeline_binary (pipelines that are created from"));
}

TEST_F(HiddenExtensions, pipelines_of_binaries_run_uncounted) {
  start_with({VK_KHR_PIPELINE_BINARY_EXTENSION_NAME});
  const VkPipelineCreateFlags2CreateInfoKHR captures{kFlags2, nullptr,
                                                     kInstrumentBit | kCaptureData};
  const Pipeline counted = make_work(work().layout, &captures);
  VkPipelineBinaryKHR binary = VK_NULL_HANDLE;
  VkPipelineBinaryHandlesInfoKHR handles{VK_STRUCTURE_TYPE_PIPELINE_BINARY_HANDLES_INFO_KHR,
                                         nullptr, 1, &binary};
  VkPipelineBinaryCreateInfoKHR create{VK_STRUCTURE_TYPE_PIPELINE_BINARY_CREATE_INFO_KHR};
  create.pipeline = counted;
  const auto create_binaries =
      function<PFN_vkCreatePipelineBinariesKHR>("vkCreatePipelineBinariesKHR");
  check(create_binaries(context().device(), &create, nullptr, &handles));
  const VkPipelineBinaryInfoKHR from{VK_STRUCTURE_TYPE_PIPELINE_BINARY_INFO_KHR, nullptr, 1,
                                     &binary};
  const VkPipelineCreateFlags2CreateInfoKHR flags{kFlags2, &from, kInstrumentBit};
  VkComputePipelineCreateInfo info{VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO, &flags};
  info.stage = {VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO};
  info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
  info.stage.pName = "main";
  info.layout = work().layout;
  VkPipeline handle = VK_NULL_HANDLE;
  check(vkCreateComputePipelines(context().device(), VK_NULL_HANDLE, 1, &info, nullptr, &handle));
  const Pipeline uncounted(context().device(), handle);
  EXPECT_THAT(notices("TALLY-uninstrumented-shader"),
              ElementsAre(HasSubstr("its SPIR-V is not known")));
  EXPECT_THAT(count([&](VkCommandBuffer commands) {
                dispatch(commands, uncounted, 2);
                dispatch(commands, counted, 2);
                dispatch(commands, uncounted, 2);
              }),
              ElementsAre(testing::Pair(1, 16)));
  expect_values({3, 3, 0});
}

// The driver that stands for others ends the process at a flag that it does not know.
TEST_F(HiddenExtensions, keys_and_binaries_are_those_of_create_infos_without_the_flag) {
  start_with({VK_KHR_PIPELINE_BINARY_EXTENSION_NAME});
  VkComputePipelineCreateInfo info{VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO, &kInstrument};
  const VkPipelineCreateInfoKHR chain{VK_STRUCTURE_TYPE_PIPELINE_CREATE_INFO_KHR, &info};
  VkPipelineBinaryKeyKHR key{VK_STRUCTURE_TYPE_PIPELINE_BINARY_KEY_KHR};
  const auto get_key = function<PFN_vkGetPipelineKeyKHR>("vkGetPipelineKeyKHR");
  EXPECT_EQ(get_key(context().device(), &chain, &key), VK_SUCCESS);
  EXPECT_EQ(key.key[0], 1);
  EXPECT_EQ(get_key(context().device(), nullptr, &key), VK_SUCCESS);
  EXPECT_EQ(key.key[0], 2) << "of the device";
  VkPipelineBinaryHandlesInfoKHR handles{VK_STRUCTURE_TYPE_PIPELINE_BINARY_HANDLES_INFO_KHR};
  VkPipelineBinaryCreateInfoKHR create{VK_STRUCTURE_TYPE_PIPELINE_BINARY_CREATE_INFO_KHR};
  create.pPipelineCreateInfo = &chain;
  EXPECT_EQ(function<PFN_vkCreatePipelineBinariesKHR>("vkCreatePipelineBinariesKHR")(
                context().device(), &create, nullptr, &handles),
            VK_PIPELINE_COMPILE_REQUIRED);
}

TEST_F(HiddenExtensions, generated_commands_of_nv_run_the_plain_pipeline) {
  start_with(
      {VK_NV_DEVICE_GENERATED_COMMANDS_EXTENSION_NAME, "VK_NV_device_generated_commands_compute"});
  const VkPipelineCreateFlags2CreateInfoKHR flags{
      kFlags2, nullptr, kInstrumentBit | VK_PIPELINE_CREATE_INDIRECT_BINDABLE_BIT_NV};
  const Pipeline pipeline = make_work(work().layout, &flags);
  VkGeneratedCommandsInfoNV info{VK_STRUCTURE_TYPE_GENERATED_COMMANDS_INFO_NV};
  info.pipelineBindPoint = kCompute;
  info.pipeline = pipeline;
  EXPECT_THAT(count([&](VkCommandBuffer commands) {
                function<void(VKAPI_PTR*)(VkCommandBuffer, VkPipelineBindPoint, VkPipeline)>(
                    "vkCmdUpdatePipelineIndirectBufferNV")(commands, kCompute, pipeline);
                dispatch(commands, pipeline, 2);
                function<PFN_vkCmdExecuteGeneratedCommandsNV>("vkCmdExecuteGeneratedCommandsNV")(
                    commands, VK_FALSE, &info);
                full_barrier(commands);
                dispatch(commands, pipeline, 1);
              }),
              ElementsAre(testing::Pair(0, 16), testing::Pair(2, 8)));
  expect_values({3, 2, 1});
}

TEST_F(HiddenExtensions, tiles_run_the_plain_pipeline) {
  start_with({"VK_QCOM_tile_shading"});
  const VkDispatchTileInfoQCOM info{};
  EXPECT_THAT(count([&](VkCommandBuffer commands) {
                dispatch(commands, work().counting, 2);
                function<PFN_vkCmdDispatchTileQCOM>("vkCmdDispatchTileQCOM")(commands, &info);
                full_barrier(commands);
                vkCmdDispatch(commands, 1, 1, 1);
              }),
              ElementsAre(testing::Pair(0, 16), testing::Pair(2, 8)))
      << "the pipeline stays bound";
  expect_values({3, 2, 1});
}

TEST_F(HiddenExtensions, subpass_shading_runs_uncounted) {
  start_with({VK_HUAWEI_SUBPASS_SHADING_EXTENSION_NAME});
  const VkSubpassShadingPipelineCreateInfoHUAWEI subpass{
      VK_STRUCTURE_TYPE_SUBPASS_SHADING_PIPELINE_CREATE_INFO_HUAWEI};
  const VkPipelineCreateFlags2CreateInfoKHR flags{kFlags2, &subpass, kInstrumentBit};
  const Pipeline pipeline = make_compute_pipeline(
      context(),
      {{VK_SHADER_STAGE_SUBPASS_SHADING_BIT_HUAWEI, work_shader()}, work().layout, {}, 0, &flags});
  EXPECT_THAT(notices("TALLY-uninstrumented-shader"), ElementsAre(HasSubstr("an unknown kind of")));
  EXPECT_THAT(count([&](VkCommandBuffer commands) {
                dispatch(commands, work().counting, 2);
                vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_SUBPASS_SHADING_HUAWEI,
                                  pipeline);
                function<PFN_vkCmdSubpassShadingHUAWEI>("vkCmdSubpassShadingHUAWEI")(commands);
                full_barrier(commands);
                vkCmdDispatch(commands, 1, 1, 1);
              }),
              ElementsAre(testing::Pair(0, 16), testing::Pair(1, 8)));
  expect_values({3, 1});
}

TEST_F(HiddenExtensions, traces_of_nv_run_uncounted) {
  start_with({VK_NV_RAY_TRACING_EXTENSION_NAME});
  const VkRayTracingPipelineCreateInfoNV info{
      VK_STRUCTURE_TYPE_RAY_TRACING_PIPELINE_CREATE_INFO_NV};
  VkPipeline handle = VK_NULL_HANDLE;
  check(function<PFN_vkCreateRayTracingPipelinesNV>("vkCreateRayTracingPipelinesNV")(
      context().device(), VK_NULL_HANDLE, 1, &info, nullptr, &handle));
  const Pipeline pipeline(context().device(), handle);
  EXPECT_THAT(count([&](VkCommandBuffer commands) {
                dispatch(commands, work().counting, 2);
                vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_RAY_TRACING_NV, pipeline);
                function<PFN_vkCmdTraceRaysNV>("vkCmdTraceRaysNV")(
                    commands, VK_NULL_HANDLE, 0, VK_NULL_HANDLE, 0, 0, VK_NULL_HANDLE, 0, 0,
                    VK_NULL_HANDLE, 0, 0, 4, 4, 1);
                vkCmdDispatch(commands, 1, 1, 1);
              }),
              ElementsAre(testing::Pair(0, 16), testing::Pair(2, 8)))
      << "a trace takes a result index";
}

class HiddenDraws : public HiddenExtensions {
 protected:
  using Drawn = std::vector<std::pair<uint32_t, uint64_t>>;
  // Executions of the last block, which is the fragment shader's, by result.
  template <typename Draw>
  Drawn count_draws(const Draw& draw) {
    const RenderTarget target(context());
    const Instrumentation instrumentation(context());
    instrumentation.run([&](VkCommandBuffer commands) {
      target.begin(commands);
      draw(commands);
      target.end(commands);
    });
    Drawn drawn;
    for (const auto& [index, blocks] : results(instrumentation)) {
      drawn.emplace_back(index, blocks.back());
    }
    return drawn;
  }
  static constexpr uint64_t kPixels = 64 * 64;
};

TEST_F(HiddenDraws, with_shader_groups_run_uncounted) {
  start_with({VK_NV_DEVICE_GENERATED_COMMANDS_EXTENSION_NAME});
  const PipelineLayout layout = make_pipeline_layout(context());
  const Pipeline group = make_orange(layout);
  const VkGraphicsPipelineShaderGroupsCreateInfoNV groups{
      VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_SHADER_GROUPS_CREATE_INFO_NV,
      &kInstrument,
      0,
      nullptr,
      1,
      group.address()};
  const Pipeline pipeline =
      make_graphics_pipeline(context(), {.stages = {{VK_SHADER_STAGE_VERTEX_BIT, full_screen_vert},
                                                    {VK_SHADER_STAGE_FRAGMENT_BIT, orange_frag}},
                                         .layout = layout,
                                         .next = &groups});
  const auto bind_group =
      function<PFN_vkCmdBindPipelineShaderGroupNV>("vkCmdBindPipelineShaderGroupNV");
  EXPECT_THAT(count_draws([&](VkCommandBuffer commands) {
                vkCmdBindPipeline(commands, kGraphics, pipeline);
                vkCmdDraw(commands, 3, 1, 0, 0);
                bind_group(commands, kGraphics, pipeline, 1);
                vkCmdDraw(commands, 3, 1, 0, 0);
                vkCmdBindPipeline(commands, kGraphics, pipeline);
                vkCmdDraw(commands, 3, 1, 0, 0);
              }),
              ElementsAre(testing::Pair(0, kPixels), testing::Pair(2, kPixels)));
}

TEST_F(HiddenDraws, of_clusters_run_the_plain_pipeline) {
  start_with({"VK_HUAWEI_cluster_culling_shader"});
  const PipelineLayout layout = make_pipeline_layout(context());
  const Pipeline pipeline = make_orange(layout);
  EXPECT_THAT(count_draws([&](VkCommandBuffer commands) {
                vkCmdBindPipeline(commands, kGraphics, pipeline);
                vkCmdDraw(commands, 3, 1, 0, 0);
                function<PFN_vkCmdDrawClusterHUAWEI>("vkCmdDrawClusterHUAWEI")(commands, 1, 1, 1);
                function<PFN_vkCmdDrawClusterIndirectHUAWEI>("vkCmdDrawClusterIndirectHUAWEI")(
                    commands, VK_NULL_HANDLE, 0);
                vkCmdDraw(commands, 3, 1, 0, 0);
              }),
              ElementsAre(testing::Pair(0, kPixels), testing::Pair(3, kPixels)));
}

}  // namespace
}  // namespace tally::test
