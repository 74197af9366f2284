// Alpha to coverage that is dynamic state or the state of a pipeline library. With it, a fragment
// shader must run before the depth test; without it, hidden fragments must not run.
#include <functional>

#include "alpha.frag.h"
#include "api/kit.h"
#include "feedback.vert.h"
#include "full_screen.vert.h"
#include "orange.frag.h"

namespace tally::test {
namespace {

constexpr auto kDynamicAlpha = VK_DYNAMIC_STATE_ALPHA_TO_COVERAGE_ENABLE_EXT;

struct LibrarySubset {
  VkGraphicsPipelineLibraryFlagBitsEXT flag;
  VkShaderStageFlags stages;
};
constexpr LibrarySubset kSubsets[] = {
    {VK_GRAPHICS_PIPELINE_LIBRARY_VERTEX_INPUT_INTERFACE_BIT_EXT, 0},
    {VK_GRAPHICS_PIPELINE_LIBRARY_PRE_RASTERIZATION_SHADERS_BIT_EXT, VK_SHADER_STAGE_VERTEX_BIT},
    {VK_GRAPHICS_PIPELINE_LIBRARY_FRAGMENT_SHADER_BIT_EXT, VK_SHADER_STAGE_FRAGMENT_BIT},
    {VK_GRAPHICS_PIPELINE_LIBRARY_FRAGMENT_OUTPUT_INTERFACE_BIT_EXT, 0},
};

// White triangles whose alpha rises from left to right. Orange ones show where those have not
// written depth; their alpha is 1.
class AlphaToCoverage : public CountersTest {
 protected:
  using Record = std::function<void(VkCommandBuffer)>;
  struct Measure {
    bool equal_pictures = false;  // with and without counting
    uint64_t invocations = 0;     // of the white fragment shader
    std::vector<uint32_t> picture;
  };

  void SetUp() override {
    dynamic_.pNext = &libraries_;
    libraries_.pNext = &feedback_;
    VkPhysicalDeviceFeatures2 features{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, &dynamic_};
    vkGetPhysicalDeviceFeatures2(context().gpu(), &features);
    if (!dynamic_.extendedDynamicState3AlphaToCoverageEnable ||
        !libraries_.graphicsPipelineLibrary || !feedback_.transformFeedback) {
      GTEST_SKIP() << "no dynamic alpha to coverage, pipeline libraries or feedback";
    }
    dynamic_ = {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTENDED_DYNAMIC_STATE_3_FEATURES_EXT,
                &libraries_};
    dynamic_.extendedDynamicState3AlphaToCoverageEnable = VK_TRUE;
    start({}, {.device_extensions = {VK_EXT_EXTENDED_DYNAMIC_STATE_3_EXTENSION_NAME,
                                     VK_KHR_PIPELINE_LIBRARY_EXTENSION_NAME,
                                     VK_EXT_GRAPHICS_PIPELINE_LIBRARY_EXTENSION_NAME,
                                     VK_EXT_TRANSFORM_FEEDBACK_EXTENSION_NAME},
               .device_next = &dynamic_});
    enable_ = context().function<PFN_vkCmdSetAlphaToCoverageEnableEXT>(
        "vkCmdSetAlphaToCoverageEnableEXT");
    layout_ = make_pipeline_layout(context());
    target_.emplace(context(), RenderTargetInfo{.depth_format = VK_FORMAT_D32_SFLOAT,
                                                .samples = VK_SAMPLE_COUNT_4_BIT});
    GraphicsPipelineInfo orange = state(orange_frag);
    orange.dynamic = {kDynamicAlpha};  // a pipeline without would end the state
    orange.next = nullptr;
    orange_ = make_graphics_pipeline(context(), orange);
    // Drivers may divide the triangle. Pixels on the edge between its parts have two invocations.
    const Pipeline white = make_graphics_pipeline(context(), state(alpha_frag));
    triangle_ = measure([&](VkCommandBuffer commands) {
                  bind(commands, white);
                  draw(commands, 0.5f);
                }).invocations;
    EXPECT_GE(triangle_, 64 * 64u);
  }

  GraphicsPipelineInfo state(std::span<const uint32_t> fragment) const {
    GraphicsPipelineInfo info;
    info.stages = {{VK_SHADER_STAGE_VERTEX_BIT, full_screen_vert},
                   {VK_SHADER_STAGE_FRAGMENT_BIT, fragment}};
    info.layout = layout_;
    info.depth_format = VK_FORMAT_D32_SFLOAT;
    info.samples = VK_SAMPLE_COUNT_4_BIT;
    info.depth_test = info.depth_write = true;
    info.next = &kInstrument;
    return info;
  }
  GraphicsPipelineInfo dynamic_state() const {
    GraphicsPipelineInfo info = state(alpha_frag);
    info.dynamic = {kDynamicAlpha};
    return info;
  }

  // One library for each subset, and what is linked from them.
  Pipeline link(const GraphicsPipelineInfo& whole) {
    constexpr uint64_t kFlag = VK_PIPELINE_CREATE_2_INSTRUMENT_SHADERS_BIT_ARM;
    std::vector<VkPipeline> handles;
    for (const LibrarySubset& subset : kSubsets) {
      const VkPipelineCreateFlags2CreateInfoKHR flags{
          VK_STRUCTURE_TYPE_PIPELINE_CREATE_FLAGS_2_CREATE_INFO_KHR, nullptr,
          kFlag | VK_PIPELINE_CREATE_LIBRARY_BIT_KHR};
      const VkGraphicsPipelineLibraryCreateInfoEXT library{
          VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_LIBRARY_CREATE_INFO_EXT,
          const_cast<VkPipelineCreateFlags2CreateInfoKHR*>(&flags), subset.flag};
      GraphicsPipelineInfo info = whole;
      std::erase_if(info.stages,
                    [&](const Stage& stage) { return (stage.stage & subset.stages) == 0; });
      info.next = &library;
      if (subset.flag != VK_GRAPHICS_PIPELINE_LIBRARY_FRAGMENT_OUTPUT_INTERFACE_BIT_EXT) {
        info.color_format = info.depth_format = VK_FORMAT_UNDEFINED;
      }
      handles.push_back(parts_.emplace_back(make_graphics_pipeline(context(), info)));
    }
    return link_graphics_pipeline(context(), layout_, handles, kFlag);
  }

  static void bind(VkCommandBuffer commands, VkPipeline pipeline) {
    vkCmdBindPipeline(commands, kGraphics, pipeline);
  }
  void enable(VkCommandBuffer commands, bool enabled) const { enable_(commands, enabled); }
  // One triangle that covers the target, of the bound pipeline.
  static void draw(VkCommandBuffer commands, float depth) {
    const VkViewport viewport{0, 0, 64, 64, depth, depth};
    vkCmdSetViewport(commands, 0, 1, &viewport);
    vkCmdDraw(commands, 3, 1, 0, 0);
  }
  void draw_orange_behind(VkCommandBuffer commands) const {
    bind(commands, orange_);
    enable(commands, true);
    draw(commands, 0.9f);
  }

  Measure measure(const Record& record) {
    const auto run = [&](const Instrumentation* instrumentation) {
      context().run([&](VkCommandBuffer commands) {
        if (instrumentation) instrumentation->begin(commands);
        target_->begin(commands);
        record(commands);
        target_->end(commands);
        if (instrumentation) instrumentation->end(commands);
      });
      return target_->read();
    };
    Measure measured;
    measured.picture = run(nullptr);
    const Instrumentation instrumentation(context());
    measured.equal_pictures = run(&instrumentation) == measured.picture;
    measured.invocations =
        Counts(instrumentation, VK_SHADER_STAGE_FRAGMENT_BIT, alpha_frag).invocations();
    return measured;
  }

  // The pipeline's triangle in front of an orange one.
  Measure measure_front(
      VkPipeline pipeline, const Record& set_state = [](VkCommandBuffer) {}) {
    return measure([&](VkCommandBuffer commands) {
      bind(commands, pipeline);
      set_state(commands);
      draw(commands, 0.4f);
      draw_orange_behind(commands);
    });
  }
  // A triangle of the pipeline and others behind it.
  uint64_t count_hidden_invocations(
      VkPipeline pipeline, const Record& set_state = [](VkCommandBuffer) {}) {
    const Measure measured = measure([&](VkCommandBuffer commands) {
      bind(commands, pipeline);
      set_state(commands);
      for (const float depth : {0.2f, 0.4f, 0.6f}) draw(commands, depth);
    });
    EXPECT_TRUE(measured.equal_pictures);
    return measured.invocations - triangle_;
  }

  static bool shows_orange(const Measure& measured) {
    constexpr uint32_t kWhite = 0x00ffffff;
    return std::ranges::any_of(measured.picture,
                               [](uint32_t texel) { return (texel & kWhite) != kWhite; });
  }
  void expect_covered_by_alpha(const Measure& measured, bool by_alpha) const {
    EXPECT_TRUE(measured.equal_pictures);
    EXPECT_EQ(measured.invocations, triangle_);
    EXPECT_EQ(shows_orange(measured), by_alpha);
  }

  VkPhysicalDeviceExtendedDynamicState3FeaturesEXT dynamic_{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTENDED_DYNAMIC_STATE_3_FEATURES_EXT};
  VkPhysicalDeviceGraphicsPipelineLibraryFeaturesEXT libraries_{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_GRAPHICS_PIPELINE_LIBRARY_FEATURES_EXT};
  VkPhysicalDeviceTransformFeedbackFeaturesEXT feedback_{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TRANSFORM_FEEDBACK_FEATURES_EXT};
  PFN_vkCmdSetAlphaToCoverageEnableEXT enable_ = nullptr;
  PipelineLayout layout_;
  std::optional<RenderTarget> target_;
  Pipeline orange_;
  std::vector<Pipeline> parts_;
  uint64_t triangle_ = 0;  // invocations of one that is not hidden
};

TEST_F(AlphaToCoverage, may_be_set_before_or_after_the_pipeline_is_bound) {
  const Pipeline pipeline = make_graphics_pipeline(context(), dynamic_state());
  for (const bool enabled : {true, false, true}) {
    const auto set = [&](VkCommandBuffer commands) { enable(commands, enabled); };
    expect_covered_by_alpha(measure_front(pipeline, set), enabled);
    expect_covered_by_alpha(measure([&](VkCommandBuffer commands) {
                              set(commands);
                              bind(commands, pipeline);
                              draw(commands, 0.4f);
                              draw_orange_behind(commands);
                            }),
                            enabled);
  }
}

TEST_F(AlphaToCoverage, may_change_between_draws) {
  const Pipeline pipeline = make_graphics_pipeline(context(), dynamic_state());
  const auto scene = [&](bool last) {
    return measure([&](VkCommandBuffer commands) {
      draw_orange_behind(commands);
      enable(commands, true);
      bind(commands, pipeline);
      float depth = 0.8f;
      for (const bool enabled : {true, true, false, true, last}) {
        enable(commands, enabled);
        bind(commands, orange_);
        draw(commands, depth - 0.01f);
        bind(commands, pipeline);
        draw(commands, depth -= 0.1f);
        draw_orange_behind(commands);
        bind(commands, pipeline);
      }
    });
  };
  for (const bool last : {true, false}) {
    const Measure measured = scene(last);
    EXPECT_TRUE(measured.equal_pictures);
    EXPECT_EQ(measured.invocations, 5 * triangle_);
    EXPECT_EQ(shows_orange(measured), last);
  }
}

TEST_F(AlphaToCoverage, hidden_fragments_do_not_run_while_it_is_disabled) {
  const Pipeline dynamic = make_graphics_pipeline(context(), dynamic_state());
  const auto disable = [&](VkCommandBuffer commands) { enable(commands, false); };
  EXPECT_EQ(count_hidden_invocations(dynamic, disable), 0u);
  EXPECT_EQ(count_hidden_invocations(link(dynamic_state()), disable), 0u);
  EXPECT_EQ(count_hidden_invocations(link(state(alpha_frag))), 0u);
  EXPECT_EQ(count_hidden_invocations(make_graphics_pipeline(context(), state(alpha_frag))), 0u);
}

TEST_F(AlphaToCoverage, is_known_when_a_library_is_linked) {
  for (const bool enabled : {true, false}) {
    GraphicsPipelineInfo info = state(alpha_frag);
    info.alpha_to_coverage = enabled;
    expect_covered_by_alpha(measure_front(link(info)), enabled);
    const Pipeline dynamic = link(dynamic_state());
    expect_covered_by_alpha(
        measure_front(dynamic, [&](VkCommandBuffer commands) { enable(commands, enabled); }),
        enabled);
  }
}

TEST_F(AlphaToCoverage, may_change_during_transform_feedback) {
  GraphicsPipelineInfo info = dynamic_state();
  info.stages[0].code = feedback_vert;
  const Pipeline pipeline = make_graphics_pipeline(context(), info);
  const Buffer captured(context(), 4096, VK_BUFFER_USAGE_TRANSFORM_FEEDBACK_BUFFER_BIT_EXT);
  const auto bind_buffers = context().function<PFN_vkCmdBindTransformFeedbackBuffersEXT>(
      "vkCmdBindTransformFeedbackBuffersEXT");
  const auto begin =
      context().function<PFN_vkCmdBeginTransformFeedbackEXT>("vkCmdBeginTransformFeedbackEXT");
  const auto end =
      context().function<PFN_vkCmdEndTransformFeedbackEXT>("vkCmdEndTransformFeedbackEXT");
  for (const bool last : {true, false}) {
    const Measure measured = measure([&](VkCommandBuffer commands) {
      const VkBuffer buffers[] = {captured, captured};
      const VkDeviceSize offsets[] = {0, 2048};
      enable(commands, false);
      bind(commands, pipeline);
      bind_buffers(commands, 0, 2, buffers, offsets, nullptr);
      begin(commands, 0, 0, nullptr, nullptr);
      enable(commands, true);
      draw(commands, 0.4f);
      enable(commands, last);
      draw(commands, 0.3f);
      end(commands, 0, 0, nullptr, nullptr);
      draw_orange_behind(commands);
      bind(commands, pipeline);
      enable(commands, last);
      draw(commands, 0.2f);
      draw_orange_behind(commands);
    });
    EXPECT_TRUE(measured.equal_pictures);
    EXPECT_EQ(measured.invocations, 3 * triangle_);
    EXPECT_EQ(shows_orange(measured), last);
  }
}

}  // namespace
}  // namespace tally::test
