// Graphics pipelines that are linked from libraries.
#include <utility>

#include "api/kit.h"
#include "full_screen.vert.h"
#include "orange.frag.h"
#include "support/queries.h"

namespace tally::test {
namespace {

using testing::AnyOf;

// One library per part of the pipeline, then one pipeline linked from them.
class Libraries : public CountersTest {
 protected:
  bool prepare(const LayerSettings::Pairs& settings = {}) {
    if (!context().has_extension(VK_EXT_GRAPHICS_PIPELINE_LIBRARY_EXTENSION_NAME)) return false;
    VkPhysicalDeviceGraphicsPipelineLibraryFeaturesEXT feature{
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_GRAPHICS_PIPELINE_LIBRARY_FEATURES_EXT, nullptr, VK_TRUE};
    start(settings, {.device_extensions = {VK_KHR_PIPELINE_LIBRARY_EXTENSION_NAME,
                                           VK_EXT_GRAPHICS_PIPELINE_LIBRARY_EXTENSION_NAME},
                     .device_next = &feature});
    layout_ = make_pipeline_layout(context());
    return true;
  }

  Pipeline make_library(VkGraphicsPipelineLibraryFlagsEXT parts, uint64_t flags) {
    return make(parts, flags | VK_PIPELINE_CREATE_LIBRARY_BIT_KHR, {});
  }

  // Provides these parts itself, and the others by `libraries`.
  Pipeline make(VkGraphicsPipelineLibraryFlagsEXT part, uint64_t flags,
                const std::vector<VkPipeline>& libraries) {
    const VkFormat format = VK_FORMAT_R8G8B8A8_UNORM;
    const VkPipelineLibraryCreateInfoKHR linked{VK_STRUCTURE_TYPE_PIPELINE_LIBRARY_CREATE_INFO_KHR,
                                                nullptr, static_cast<uint32_t>(libraries.size()),
                                                libraries.data()};
    const VkPipelineCreateFlags2CreateInfoKHR flags2{
        VK_STRUCTURE_TYPE_PIPELINE_CREATE_FLAGS_2_CREATE_INFO_KHR,
        libraries.empty() ? nullptr : &linked, flags};
    VkPipelineRenderingCreateInfo rendering{VK_STRUCTURE_TYPE_PIPELINE_RENDERING_CREATE_INFO,
                                            &flags2};
    const bool output =
        (part & VK_GRAPHICS_PIPELINE_LIBRARY_FRAGMENT_OUTPUT_INTERFACE_BIT_EXT) != 0;
    if (output) {
      rendering.colorAttachmentCount = 1;
      rendering.pColorAttachmentFormats = &format;
    }
    VkGraphicsPipelineLibraryCreateInfoEXT library{
        VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_LIBRARY_CREATE_INFO_EXT, &rendering, part};
    VkPipelineVertexInputStateCreateInfo vertex_input{
        VK_STRUCTURE_TYPE_PIPELINE_VERTEX_INPUT_STATE_CREATE_INFO};
    VkPipelineInputAssemblyStateCreateInfo assembly{
        VK_STRUCTURE_TYPE_PIPELINE_INPUT_ASSEMBLY_STATE_CREATE_INFO};
    assembly.topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST;
    VkPipelineViewportStateCreateInfo viewport{
        VK_STRUCTURE_TYPE_PIPELINE_VIEWPORT_STATE_CREATE_INFO};
    viewport.viewportCount = viewport.scissorCount = 1;
    VkPipelineRasterizationStateCreateInfo raster{
        VK_STRUCTURE_TYPE_PIPELINE_RASTERIZATION_STATE_CREATE_INFO};
    raster.lineWidth = 1;
    VkPipelineMultisampleStateCreateInfo multisample{
        VK_STRUCTURE_TYPE_PIPELINE_MULTISAMPLE_STATE_CREATE_INFO};
    multisample.rasterizationSamples = VK_SAMPLE_COUNT_1_BIT;
    VkPipelineDepthStencilStateCreateInfo depth{
        VK_STRUCTURE_TYPE_PIPELINE_DEPTH_STENCIL_STATE_CREATE_INFO};
    VkPipelineColorBlendAttachmentState attachment{};
    attachment.colorWriteMask = 0xf;
    VkPipelineColorBlendStateCreateInfo blend{
        VK_STRUCTURE_TYPE_PIPELINE_COLOR_BLEND_STATE_CREATE_INFO};
    blend.attachmentCount = 1;
    blend.pAttachments = &attachment;
    const VkDynamicState states[] = {VK_DYNAMIC_STATE_VIEWPORT, VK_DYNAMIC_STATE_SCISSOR};
    VkPipelineDynamicStateCreateInfo dynamic{VK_STRUCTURE_TYPE_PIPELINE_DYNAMIC_STATE_CREATE_INFO,
                                             nullptr, 0, 2, states};

    const bool vertex =
        (part & VK_GRAPHICS_PIPELINE_LIBRARY_PRE_RASTERIZATION_SHADERS_BIT_EXT) != 0;
    const bool fragment = (part & VK_GRAPHICS_PIPELINE_LIBRARY_FRAGMENT_SHADER_BIT_EXT) != 0;
    const ShaderModule vertex_module = make_shader_module(context(), full_screen_vert);
    const ShaderModule fragment_module = make_shader_module(context(), orange_frag);
    std::vector<VkPipelineShaderStageCreateInfo> stages;
    const auto add_stage = [&](VkShaderStageFlagBits stage, VkShaderModule module) {
      stages.push_back({VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO, nullptr, 0, stage,
                        module, "main", nullptr});
    };
    if (vertex) add_stage(VK_SHADER_STAGE_VERTEX_BIT, vertex_module);
    if (fragment) add_stage(VK_SHADER_STAGE_FRAGMENT_BIT, fragment_module);

    VkGraphicsPipelineCreateInfo info{VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO, &library};
    info.basePipelineIndex = -1;
    info.stageCount = static_cast<uint32_t>(stages.size());
    info.pStages = stages.data();
    if (vertex || fragment || !libraries.empty()) info.layout = layout_;
    if ((part & VK_GRAPHICS_PIPELINE_LIBRARY_VERTEX_INPUT_INTERFACE_BIT_EXT) != 0) {
      info.pVertexInputState = &vertex_input;
      info.pInputAssemblyState = &assembly;
    }
    if (vertex) {
      info.pViewportState = &viewport;
      info.pRasterizationState = &raster;
      info.pDynamicState = &dynamic;
    }
    if (fragment) {
      info.pDepthStencilState = &depth;
      info.pMultisampleState = &multisample;
    }
    if (output) {
      info.pColorBlendState = &blend;
      info.pMultisampleState = &multisample;
    }
    VkPipeline handle = VK_NULL_HANDLE;
    check(
        vkCreateGraphicsPipelines(context().device(), VK_NULL_HANDLE, 1, &info, nullptr, &handle));
    return {context().device(), handle};
  }

  Pipeline link(const std::vector<VkPipeline>& libraries, uint64_t flags) {
    return link_graphics_pipeline(context(), layout_, libraries, flags);
  }

  // Vertex and fragment invocations of one draw with a pipeline linked from four parts.
  std::pair<uint64_t, uint64_t> measure_linked(uint64_t vertex_flags, uint64_t fragment_flags,
                                               uint64_t link_flags) {
    const Pipeline parts[] = {
        make_library(VK_GRAPHICS_PIPELINE_LIBRARY_VERTEX_INPUT_INTERFACE_BIT_EXT, vertex_flags),
        make_library(VK_GRAPHICS_PIPELINE_LIBRARY_PRE_RASTERIZATION_SHADERS_BIT_EXT, vertex_flags),
        make_library(VK_GRAPHICS_PIPELINE_LIBRARY_FRAGMENT_SHADER_BIT_EXT, fragment_flags),
        make_library(VK_GRAPHICS_PIPELINE_LIBRARY_FRAGMENT_OUTPUT_INTERFACE_BIT_EXT,
                     fragment_flags)};
    return measure_draw(link({parts[0], parts[1], parts[2], parts[3]}, link_flags));
  }

  // Vertex and fragment invocations of one draw.
  std::pair<uint64_t, uint64_t> measure_draw(const Pipeline& pipeline) {
    const RenderTarget target(context());
    const Instrumentation instrumentation(context());
    instrumentation.run([&](VkCommandBuffer commands) { draw_orange(commands, target, pipeline); });
    // Half of 255 may be rounded up or down.
    EXPECT_THAT(target.read().at(0), AnyOf(0xff0080ffu, 0xff007fffu));
    return {Counts(instrumentation, VK_SHADER_STAGE_VERTEX_BIT, full_screen_vert).invocations(),
            Counts(instrumentation, VK_SHADER_STAGE_FRAGMENT_BIT, orange_frag).invocations()};
  }

  static constexpr VkGraphicsPipelineLibraryFlagsEXT
      kInput = VK_GRAPHICS_PIPELINE_LIBRARY_VERTEX_INPUT_INTERFACE_BIT_EXT,
      kBefore = VK_GRAPHICS_PIPELINE_LIBRARY_PRE_RASTERIZATION_SHADERS_BIT_EXT,
      kBehind = VK_GRAPHICS_PIPELINE_LIBRARY_FRAGMENT_SHADER_BIT_EXT,
      kOutput = VK_GRAPHICS_PIPELINE_LIBRARY_FRAGMENT_OUTPUT_INTERFACE_BIT_EXT;

  // For libraries that are made with different layouts.
  PipelineLayout make_independent_layout() {
    const VkPushConstantRange range = {VK_SHADER_STAGE_ALL, 0, 4};
    VkPipelineLayoutCreateInfo info{VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO};
    info.flags = VK_PIPELINE_LAYOUT_CREATE_INDEPENDENT_SETS_BIT_EXT;
    info.pushConstantRangeCount = 1;
    info.pPushConstantRanges = &range;
    VkPipelineLayout handle = VK_NULL_HANDLE;
    check(vkCreatePipelineLayout(context().device(), &info, nullptr, &handle));
    return {context().device(), handle};
  }

  PipelineLayout layout_;
};

constexpr uint64_t kFlag = VK_PIPELINE_CREATE_2_INSTRUMENT_SHADERS_BIT_ARM;

TEST_F(Libraries, a_linked_pipeline_counts_every_stage) {
  if (!prepare()) GTEST_SKIP() << "no pipeline libraries";
  EXPECT_EQ(measure_linked(kFlag, kFlag, kFlag), std::pair(uint64_t{3}, uint64_t{64 * 64}));
}

TEST_F(Libraries, only_the_parts_that_were_made_for_it_count) {
  if (!prepare()) GTEST_SKIP() << "no pipeline libraries";
  EXPECT_EQ(measure_linked(0, kFlag, kFlag), std::pair(uint64_t{0}, uint64_t{64 * 64}));
  EXPECT_EQ(measure_linked(kFlag, 0, kFlag), std::pair(uint64_t{3}, uint64_t{0}));
  EXPECT_EQ(measure_linked(kFlag, kFlag, 0), std::pair(uint64_t{0}, uint64_t{0}));
}

// The four parts in two, three and four libraries, linked with and without optimization.
TEST_F(Libraries, every_split_counts) {
  if (!prepare()) GTEST_SKIP() << "no pipeline libraries";
  const std::vector<std::vector<VkGraphicsPipelineLibraryFlagsEXT>> splits = {
      {kInput, kBefore | kBehind | kOutput}, {kInput | kBefore | kBehind, kOutput},
      {kInput, kBefore, kBehind | kOutput},  {kInput, kBefore | kBehind, kOutput},
      {kInput | kBefore, kBehind, kOutput},  {kInput | kOutput, kBefore, kBehind},
      {kInput, kBefore, kBehind, kOutput}};
  constexpr uint64_t kRetain = VK_PIPELINE_CREATE_RETAIN_LINK_TIME_OPTIMIZATION_INFO_BIT_EXT;
  constexpr uint64_t kOptimize = VK_PIPELINE_CREATE_LINK_TIME_OPTIMIZATION_BIT_EXT;
  for (const auto& split : splits) {
    for (const bool optimized : {false, true}) {
      std::vector<Pipeline> libraries;
      std::vector<VkPipeline> handles;
      for (const VkGraphicsPipelineLibraryFlagsEXT parts : split) {
        libraries.push_back(make_library(parts, kFlag | (optimized ? kRetain : 0)));
        handles.push_back(libraries.back());
      }
      EXPECT_EQ(measure_draw(link(handles, kFlag | (optimized ? kOptimize : 0))),
                std::pair(uint64_t{3}, uint64_t{64 * 64}))
          << split.size() << " libraries, the first with " << split[0] << ", " << optimized;
    }
  }
}

TEST_F(Libraries, libraries_of_libraries_count) {
  if (!prepare()) GTEST_SKIP() << "no pipeline libraries";
  const Pipeline input = make_library(kInput, kFlag);
  const Pipeline before = make_library(kBefore, kFlag);
  const Pipeline behind = make_library(kBehind, kFlag);
  const Pipeline output = make_library(kOutput, kFlag);
  const Pipeline first = link({input, before}, kFlag | VK_PIPELINE_CREATE_LIBRARY_BIT_KHR);
  const Pipeline second = link({behind, output}, kFlag | VK_PIPELINE_CREATE_LIBRARY_BIT_KHR);
  EXPECT_EQ(measure_draw(link({first, second}, kFlag)), std::pair(uint64_t{3}, uint64_t{64 * 64}));
}

// The linked pipeline has one of the shaders itself.
TEST_F(Libraries, a_pipeline_with_a_shader_of_its_own_counts) {
  if (!prepare()) GTEST_SKIP() << "no pipeline libraries";
  const Pipeline before = make_library(kInput | kBefore, kFlag);
  const Pipeline output = make_library(kOutput, kFlag);
  EXPECT_EQ(measure_draw(make(kBehind, kFlag, {before, output})),
            std::pair(uint64_t{3}, uint64_t{64 * 64}));
  const Pipeline behind = make_library(kBehind | kOutput, 0);
  EXPECT_EQ(measure_draw(make(kInput | kBefore, kFlag, {behind})),
            std::pair(uint64_t{3}, uint64_t{0}));
}

// lavapipe 25.0 crashes where the push constants of two layouts are more than 256 bytes, all are
// between 0 and 1, and a constant colour fills a tile (PushGuard): with the layer's ranges they are
// more.
TEST_F(Libraries, of_two_layouts_draw_a_constant_colour_with_small_push_constants) {
  if (!prepare()) GTEST_SKIP() << "no pipeline libraries";
  layout_ = make_independent_layout();
  const Pipeline before = make_library(kInput | kBefore, 0);
  const PipelineLayout other = std::exchange(layout_, make_independent_layout());
  const Pipeline behind = make_library(kBehind | kOutput, 0);
  const Pipeline linked = link({before, behind}, 0);
  const RenderTarget target(context(), {.extent = {256, 256}});
  constexpr uint32_t kZero = 0;
  context().run([&](VkCommandBuffer commands) {
    vkCmdPushConstants(commands, layout_, VK_SHADER_STAGE_ALL, 0, sizeof kZero, &kZero);
    draw_orange(commands, target, linked);
  });
  EXPECT_THAT(target.read().at(0), AnyOf(0xff0080ffu, 0xff007fffu));
}

// Its variant is made when the query wants it, and is linked from variants of the libraries.
TEST_F(Libraries, may_be_destroyed_before_a_query_counts_what_was_linked) {
  if (!prepare({{"emulate_queries", "all"}})) GTEST_SKIP() << "no pipeline libraries";
  Pipeline linked;
  {
    const Pipeline input = make_library(kInput, 0);
    const Pipeline before = make_library(kBefore, 0);
    const Pipeline fragment = make_library(VK_GRAPHICS_PIPELINE_LIBRARY_FRAGMENT_SHADER_BIT_EXT, 0);
    const Pipeline output =
        make_library(VK_GRAPHICS_PIPELINE_LIBRARY_FRAGMENT_OUTPUT_INTERFACE_BIT_EXT, 0);
    linked = link({input, before, fragment, output}, 0);
  }
  const QueryPool pool =
      make_query_pool(context(), VK_QUERY_TYPE_PIPELINE_STATISTICS, 1,
                      VK_QUERY_PIPELINE_STATISTIC_FRAGMENT_SHADER_INVOCATIONS_BIT);
  const RenderTarget target(context());
  context().run([&](VkCommandBuffer commands) {
    vkCmdResetQueryPool(commands, pool, 0, 1);
    vkCmdBeginQuery(commands, pool, 0, 0);
    draw_orange(commands, target, linked);
    vkCmdEndQuery(commands, pool, 0);
  });
  uint64_t fragments = 0;
  check(vkGetQueryPoolResults(context().device(), pool, 0, 1, sizeof fragments, &fragments,
                              sizeof fragments, VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT));
  EXPECT_EQ(fragments, 64u * 64);
  context().run([&](VkCommandBuffer commands) { draw_orange(commands, target, linked); });
  EXPECT_THAT(target.read().at(0), AnyOf(0xff0080ffu, 0xff007fffu));
}

TEST_F(Libraries, whole_pipelines_count_on_a_device_with_libraries) {
  if (!prepare()) GTEST_SKIP() << "no pipeline libraries";
  const PipelineLayout layout = make_pipeline_layout(context());
  const Pipeline pipeline = make_orange(layout);
  const RenderTarget target(context());
  const Instrumentation instrumentation(context());
  instrumentation.run([&](VkCommandBuffer commands) {
    draw_orange(commands, target, pipeline);
    dispatch(commands, work().counting, 1);
  });
  EXPECT_EQ(Counts(instrumentation, VK_SHADER_STAGE_VERTEX_BIT, full_screen_vert, 0).invocations(),
            3u);
  EXPECT_EQ(Counts(instrumentation, VK_SHADER_STAGE_FRAGMENT_BIT, orange_frag, 0).invocations(),
            64u * 64);
  EXPECT_EQ(Counts(instrumentation, VK_SHADER_STAGE_COMPUTE_BIT, work_shader(), 1).invocations(),
            8u);
}

}  // namespace
}  // namespace tally::test
