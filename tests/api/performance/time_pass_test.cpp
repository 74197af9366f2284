// Counts and time in two passes: which pipelines run in which pass. The test driver marks them
// (driver/counters.h), so that shaders can detect it.
#include <cstdlib>

#include "api/performance/performance_kit.h"
#include "full_screen.vert.h"
#include "pushed_bytes.frag.h"
#include "stand_in/performance/answers.h"
#include "support/environment.h"

namespace tally::test {
namespace {

constexpr uint32_t kCountPass = 0, kTimePass = 1;

class TimePass : public PerformanceTest {
 protected:
  void SetUp() override {
    set_variable(performance::kMarks, "1");
    start_marked();
  }
  void TearDown() override { unset_variable(performance::kMarks); }

  void start_marked(ContextOptions options = {}) {
    values_.reset();
    set_.reset();
    layout_ = {};
    options.driver_layers.push_back("VK_LAYER_TALLY_test_performance_driver");
    // The driver marks with the VkPipeline that it created; the application must see the same
    // handle.
    const auto disabled = VK_VALIDATION_FEATURE_DISABLE_UNIQUE_HANDLES_EXT;
    const VkValidationFeaturesEXT same_handles{
        VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT, nullptr, 0, nullptr, 1, &disabled};
    options.validation_next = &same_handles;
    start_performance({}, options);
    conditional_ = device().has_extension(VK_EXT_CONDITIONAL_RENDERING_EXTENSION_NAME);
    values_.emplace(device(), 64);
    set_.emplace(device(), std::initializer_list<VkBuffer>{*values_});
    layout_ = make_pipeline_layout(device(), {{set_->layout()}}, sizeof(uint32_t));
  }
  Pipeline make_marked(const void* next = nullptr) {
    return make_compute_pipeline(
        device(), {{VK_SHADER_STAGE_COMPUTE_BIT, work_shader()}, layout_, {}, 0, next});
  }
  void dispatch_marked(VkCommandBuffer commands, VkPipeline pipeline) {
    const uint32_t nothing = 0;
    vkCmdBindPipeline(commands, kCompute, pipeline);
    set_->bind(commands, layout_);
    vkCmdPushConstants(commands, layout_, VK_SHADER_STAGE_ALL, 0, sizeof nothing, &nothing);
    vkCmdDispatch(commands, 1, 1, 1);
    full_barrier(commands);
  }
  // The sum of the marks of all pipelines that ran.
  uint32_t run_pass(const Performance& query, VkCommandBuffer commands, uint32_t pass) {
    values_->clear();
    query.submit(commands, pass);
    return values_->as<uint32_t>()[0];
  }
  // If the GPU cannot skip commands, there is one pipeline for both passes.
  void expect_the_applications_in_the_time_pass(const Performance& query, VkCommandBuffer commands,
                                                VkPipeline pipeline) {
    const uint32_t plain = performance::mark_of(pipeline);
    const uint32_t counting = run_pass(query, commands, kCountPass);
    EXPECT_NE(counting, 0u);
    EXPECT_NE(counting, plain);
    EXPECT_EQ(run_pass(query, commands, kTimePass), conditional_ ? plain : counting);
  }

  bool conditional_ = false;
  std::optional<Buffer> values_;
  std::optional<StorageSet> set_;
  PipelineLayout layout_;
};

TEST_F(TimePass, dispatches_the_applications_pipeline) {
  const Pipeline pipeline = make_marked();
  const Performance query(*this, {"gpu_time", "dispatches", "compute_shader_invocations"});
  ASSERT_EQ(query.passes(), 2u);
  check(lock(device(), UINT64_MAX));
  const VkCommandBuffer commands =
      query.record([&](VkCommandBuffer recorded) { dispatch_marked(recorded, pipeline); });
  for (int i = 0; i < 2; ++i) {
    query.reset();
    expect_the_applications_in_the_time_pass(query, commands, pipeline);
    check(query.results(VK_QUERY_RESULT_WAIT_BIT));
    EXPECT_EQ(query.number("dispatches"), 1u);
    EXPECT_EQ(query.number("compute_shader_invocations"), 8u);
    EXPECT_GT(query.number("gpu_time"), 0u);
  }
  unlock(device());
}

TEST_F(TimePass, draws_with_the_applications_pipeline) {
  const PipelineLayout layout = make_pipeline_layout(device(), {}, sizeof(uint32_t));
  GraphicsPipelineInfo info;
  info.stages = {{VK_SHADER_STAGE_VERTEX_BIT, full_screen_vert},
                 {VK_SHADER_STAGE_FRAGMENT_BIT, pushed_bytes_frag}};
  info.layout = layout;
  const Pipeline pipeline = make_graphics_pipeline(device(), info);
  const RenderTarget target(device(), {.extent = {4, 4}});
  const Performance query(*this, {"gpu_time", "draws", "fragment_shader_invocations"});
  check(lock(device(), UINT64_MAX));
  query.reset();
  const VkCommandBuffer commands = query.record([&](VkCommandBuffer recorded) {
    const uint32_t nothing = 0;
    target.begin(recorded);
    vkCmdPushConstants(recorded, layout, VK_SHADER_STAGE_ALL, 0, sizeof nothing, &nothing);
    draw(recorded, pipeline, target);
    target.end(recorded);
  });
  const auto pixel_after = [&](uint32_t pass) {
    query.submit(commands, pass);
    return target.read().back();
  };
  const uint32_t plain = performance::mark_of(pipeline);
  const uint32_t counting = pixel_after(kCountPass);
  EXPECT_NE(counting, plain);
  EXPECT_EQ(pixel_after(kTimePass), conditional_ ? plain : counting);
  check(query.results(VK_QUERY_RESULT_WAIT_BIT));
  EXPECT_EQ(query.number("draws"), 1u);
  EXPECT_EQ(query.number("fragment_shader_invocations"), 16u);
  unlock(device());
}

TEST_F(TimePass, dispatches_the_applications_pipeline_in_secondary_command_buffers) {
  const Pipeline pipeline = make_marked();
  const Performance query(*this, {"gpu_time", "compute_shader_invocations"});
  check(lock(device(), UINT64_MAX));
  query.reset();
  const VkCommandBuffer commands =
      query.record_in_secondary([&](VkCommandBuffer one) { dispatch_marked(one, pipeline); });
  expect_the_applications_in_the_time_pass(query, commands, pipeline);
  check(query.results(VK_QUERY_RESULT_WAIT_BIT));
  EXPECT_EQ(query.number("compute_shader_invocations"), 8u);
  unlock(device());
  EXPECT_THAT(error_ids(), testing::IsEmpty());
}

// Conditional rendering cannot be nested, so the counting pipeline runs in both passes.
TEST_F(TimePass, leaves_the_applications_own_conditions_alone) {
  if (!conditional_) GTEST_SKIP() << "the driver has no conditional rendering";
  VkPhysicalDeviceConditionalRenderingFeaturesEXT feature{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_CONDITIONAL_RENDERING_FEATURES_EXT, nullptr, VK_TRUE};
  start_marked({.device_extensions = {VK_EXT_CONDITIONAL_RENDERING_EXTENSION_NAME},
                .device_next = &feature});
  const Pipeline pipeline = make_marked();
  const Buffer predicate(device(), 4, VK_BUFFER_USAGE_CONDITIONAL_RENDERING_BIT_EXT);
  const VkConditionalRenderingBeginInfoEXT condition{
      VK_STRUCTURE_TYPE_CONDITIONAL_RENDERING_BEGIN_INFO_EXT, nullptr, predicate, 0, 0};
  const Performance query(*this, {"gpu_time", "compute_shader_invocations"});
  check(lock(device(), UINT64_MAX));
  const VkCommandBuffer commands = query.record([&](VkCommandBuffer recorded) {
    device().function<PFN_vkCmdBeginConditionalRenderingEXT>("vkCmdBeginConditionalRenderingEXT")(
        recorded, &condition);
    dispatch_marked(recorded, pipeline);
    device().function<PFN_vkCmdEndConditionalRenderingEXT>("vkCmdEndConditionalRenderingEXT")(
        recorded);
  });
  for (const uint32_t runs : {0u, 1u}) {
    predicate.as<uint32_t>()[0] = runs;
    query.reset();
    const uint32_t counting = run_pass(query, commands, kCountPass);
    EXPECT_EQ(counting != 0, runs != 0);
    EXPECT_EQ(run_pass(query, commands, kTimePass), counting);
    check(query.results(VK_QUERY_RESULT_WAIT_BIT));
    EXPECT_EQ(query.number("compute_shader_invocations"), 8 * runs);
  }
  unlock(device());
}

// The application's shader instrumentation accumulates over all passes.
TEST_F(PerformanceTest, instrumentation_that_is_active_counts_in_the_time_pass_too) {
  VkPhysicalDeviceShaderInstrumentationFeaturesARM feature{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INSTRUMENTATION_FEATURES_ARM, nullptr, VK_TRUE};
  VkPhysicalDevicePerformanceQueryFeaturesKHR queries{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PERFORMANCE_QUERY_FEATURES_KHR, &feature, VK_TRUE, VK_TRUE};
  start(true, {.device_extensions = {VK_KHR_PERFORMANCE_QUERY_EXTENSION_NAME,
                                     VK_ARM_SHADER_INSTRUMENTATION_EXTENSION_NAME},
               .device_next = &queries});
  const Pipeline pipeline = make_work(&kInstrument);
  const Performance query(*this, {"gpu_time", "compute_shader_invocations"});
  const Instrumentation instrumentation(device());
  check(lock(device(), UINT64_MAX));
  query.reset();
  const VkCommandBuffer commands = query.record([&](VkCommandBuffer recorded) {
    instrumentation.begin(recorded);
    dispatch(recorded, pipeline, 1);
    instrumentation.end(recorded);
  });
  query.submit(commands, kCountPass);
  query.submit(commands, kTimePass);
  check(query.results(VK_QUERY_RESULT_WAIT_BIT));
  EXPECT_EQ(query.number("compute_shader_invocations"), 8u);
  const std::vector<BlockValues> values = instrumentation.read();
  ASSERT_FALSE(values.empty());
  EXPECT_EQ(values[0].metrics[instrumentation.metric("executions")], 16u);
  unlock(device());
}

}  // namespace
}  // namespace tally::test
