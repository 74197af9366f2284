// Variants of pipelines are made when a recording first wants them. The test driver counts the
// pipelines that it creates.
#include <array>

#include "api/queries/late_variants.h"
#include "full_screen.vert.h"
#include "orange.frag.h"
#include "stand_in/performance/answers.h"

namespace tally::test {
namespace {

class LateVariants : public LateVariantsTest {
 protected:
  // The extension of shader instrumentation is enabled too. Threads that compile ahead would create
  // variants that nobody asked for.
  void SetUp() override {
    set_variable("TALLY_COMPILE_AHEAD", "never");
    static VkPhysicalDeviceShaderInstrumentationFeaturesARM feature{
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INSTRUMENTATION_FEATURES_ARM, nullptr, VK_TRUE};
    start(true, {.driver_layers = {"VK_LAYER_TALLY_test_performance_driver"},
                 .device_extensions = {VK_ARM_SHADER_INSTRUMENTATION_EXTENSION_NAME},
                 .device_next = &feature});
  }
  void TearDown() override {
    LateVariantsTest::TearDown();
    unset_variable("TALLY_COMPILE_AHEAD");
  }

  bool is_cpu() { return context().properties().deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU; }
  uint32_t created() {
    return context().function<performance::CreatedGraphics>(performance::kCreatedGraphics)(
        context().device());
  }
  Pipeline make_orange(const void* next = nullptr) {
    GraphicsPipelineInfo more;
    more.next = next;
    return make_graphics({{kVertex, full_screen_vert}, {kFragment, orange_frag}}, more);
  }
  Draw draw_with(VkPipeline pipeline) {
    return [=, this](VkCommandBuffer commands) { draw(commands, pipeline, 3); };
  }
};

TEST_F(LateVariants, are_made_once_when_a_query_wants_them) {
  const Pipeline pipeline = make_orange();
  EXPECT_EQ(created(), 1u);
  draw_uncounted(draw_with(pipeline));
  EXPECT_EQ(created(), 1u);
  EXPECT_EQ(fragments_of(draw_with(pipeline)), kPixels);
  EXPECT_EQ(fragments_of(draw_with(pipeline)), kPixels);
  EXPECT_EQ(created(), 2u);
}

TEST_F(LateVariants, include_one_with_packed_draw_indices_once_many_draws_have_a_query_each) {
  constexpr uint32_t kMany = 100;
  const Pipeline pipeline = make_orange();
  const Queries queries(context(), VK_QUERY_TYPE_PIPELINE_STATISTICS, kMany,
                        VK_QUERY_PIPELINE_STATISTIC_FRAGMENT_SHADER_INVOCATIONS_BIT);
  const auto draw_in_queries = [&](uint32_t count) {
    const RenderTarget target(context());
    context().run([&](VkCommandBuffer commands) {
      queries.reset(commands);
      target.begin(commands);
      for (uint32_t i = 0; i < count; ++i) {
        queries.begin(commands, i);
        draw(commands, pipeline, 3);
        queries.end(commands, i);
      }
      target.end(commands);
    });
    for (uint32_t i = 0; i < count; ++i) EXPECT_EQ(queries.read(i).at(0), kPixels) << i;
  };
  const auto draw_in_one = [&] {
    EXPECT_EQ(drawn([&](VkCommandBuffer commands) {
                for (uint32_t i = 0; i < kMany; ++i) draw(commands, pipeline, 3);
              }).at(kFragmentInvocations),
              kPixels * kMany);
  };
  draw_in_one();
  draw_in_queries(3);
  EXPECT_EQ(created(), 2u);
  draw_in_queries(kMany);
  EXPECT_EQ(created(), 3u);
  draw_in_queries(kMany);
  draw_in_one();
  EXPECT_EQ(created(), 3u);
}

TEST_F(LateVariants, with_the_flag_are_made_once_the_pipeline_runs_instrumented) {
  const Pipeline pipeline = make_orange(&kInstrument);
  const Pipeline never_bound = make_orange(&kInstrument);
  // The driver of a CPU device does not get that one.
  const uint32_t at_once = is_cpu() ? 1 : 2;
  draw_uncounted(draw_with(pipeline));
  EXPECT_EQ(created(), at_once);
  EXPECT_EQ(instrumented_fragments(draw_with(pipeline)), kPixels);
  EXPECT_EQ(created(), at_once + 1);
  EXPECT_EQ(fragments_of(draw_with(pipeline)), kPixels);
  draw_uncounted(draw_with(pipeline));
  EXPECT_EQ(instrumented_fragments(draw_with(pipeline)), kPixels);
  EXPECT_EQ(created(), at_once + 1);
}

TEST_F(LateVariants, include_the_plain_one_on_cpu_devices) {
  if (!is_cpu()) GTEST_SKIP() << "a GPU";
  const Pipeline counted = make_orange(&kInstrument), uncounted = make_orange(&kInstrument);
  const Pipeline never_bound = make_orange(&kInstrument);
  EXPECT_EQ(created(), 0u);
  EXPECT_EQ(instrumented_fragments(draw_with(counted)), kPixels);
  EXPECT_EQ(created(), 1u);
  draw_uncounted(draw_with(uncounted));
  EXPECT_EQ(created(), 2u);
}

TEST_F(LateVariants, leave_out_the_plain_one_if_the_application_asks_how_it_was_created) {
  VkPipelineCreationFeedback feedback{};
  std::array<VkPipelineCreationFeedback, 2> stages{};
  const VkPipelineCreationFeedbackCreateInfo info{
      VK_STRUCTURE_TYPE_PIPELINE_CREATION_FEEDBACK_CREATE_INFO, &kInstrument, &feedback,
      static_cast<uint32_t>(stages.size()), stages.data()};
  const Pipeline pipeline = make_orange(&info);
  EXPECT_EQ(created(), 1u);
}

// Depth, blending, a vertex binding with a divisor of its own, specialization: whatever the variant
// is made of is gone. The pass is compatible with the one that is destroyed.
TEST_F(LateVariants, need_nothing_that_the_application_has_destroyed) {
  const RenderTarget target(context());
  for (const void* next :
       {static_cast<const void*>(nullptr), static_cast<const void*>(&kInstrument)}) {
    Pipeline pipeline;
    {
      const RenderTarget other(context());
      const PipelineLayout layout = make_pipeline_layout(context(), {}, 64);
      GraphicsPipelineInfo info;
      info.stages = {{kVertex, full_screen_vert}, {kFragment, orange_frag}};
      info.layout = layout;
      info.render_pass = other.render_pass();
      info.additive_blend = true;
      info.next = next;
      pipeline = make_graphics_pipeline(context(), info);
    }
    const auto draw_in_pass = [&](VkCommandBuffer commands) {
      target.begin_render_pass(commands);
      draw(commands, pipeline, 3);
      target.end_render_pass(commands);
    };
    EXPECT_EQ(statistics(draw_in_pass).at(kFragmentInvocations), kPixels);
    EXPECT_EQ(target.read().at(0) & 0xff0000ff, 0xff0000ff);
    context().run(draw_in_pass);
    EXPECT_EQ(target.read().at(0) & 0xff0000ff, 0xff0000ff);
  }
}

TEST_F(LateVariants, threads_that_bind_a_pipeline_at_once_share_its_variant) {
  const Pipeline pipeline = make_orange();
  EXPECT_THAT(fragments_in_threads(draw_with(pipeline)), testing::Each(kPixels));
  EXPECT_EQ(created(), 2u);
}

TEST_F(LateVariants, a_variant_that_cannot_be_made_is_said_once_and_the_plain_pipeline_runs) {
  const Pipeline pipeline = make_orange();
  set_variable("TALLY_TEST_REFUSE_INSTRUMENTED", "1");
  EXPECT_EQ(fragments_of(draw_with(pipeline)), 0u);
  EXPECT_EQ(fragments_of(draw_with(pipeline)), 0u);
  EXPECT_EQ(notices("the driver rejected its instrumented variant"), 1u);
  draw_uncounted(draw_with(pipeline));
  EXPECT_EQ(created(), 1u);
}

TEST_F(LateVariants, a_layout_without_room_is_said_once_and_the_plain_pipeline_runs) {
  const VkPhysicalDeviceLimits& limits = context().properties().limits;
  const SetLayout empty = make_set_layout(context());
  const std::vector<VkDescriptorSetLayout> sets(limits.maxBoundDescriptorSets, empty.get());
  const PipelineLayout full = make_pipeline_layout(context(), sets, limits.maxPushConstantsSize);
  GraphicsPipelineInfo orange;
  orange.stages = {{kVertex, full_screen_vert}, {kFragment, orange_frag}};
  orange.layout = full;
  const Pipeline pipeline = make_graphics_pipeline(context(), orange);
  EXPECT_EQ(fragments_of(draw_with(pipeline)), 0u);
  EXPECT_EQ(fragments_of(draw_with(pipeline)), 0u);
  EXPECT_EQ(notices("its pipeline layout leaves no room"), 1u);
  EXPECT_EQ(created(), 1u);
}

TEST_F(LateVariants, with_the_flag_that_cannot_be_made_are_said_once_and_the_plain_pipeline_runs) {
  set_variable("TALLY_TEST_REFUSE_INSTRUMENTED", "1");
  const Pipeline pipeline = make_orange(&kInstrument);
  draw_uncounted(draw_with(pipeline));
  EXPECT_EQ(notices("the driver rejected its instrumented variant"), 0u);
  for (int i = 0; i < 2; ++i) {
    const RenderTarget target(context());
    const Instrumentation instrumentation(context());
    instrumentation.run([&](VkCommandBuffer commands) {
      target.begin(commands);
      draw_with(pipeline)(commands);
      target.end(commands);
    });
    EXPECT_EQ(target.read().at(0) & 0xff0000ff, 0xff0000ff);
    EXPECT_EQ(notices("the driver rejected its instrumented variant"), 1u);
  }
  EXPECT_EQ(created(), 1u);
}

}  // namespace
}  // namespace tally::test
