// Performance queries count the shaders of traces, whatever flags their pipelines have.
#include "api/performance/performance_kit.h"
#include "known_answers/ray_scene.h"

namespace tally::test {
namespace {

class RayPerformance : public PerformanceTest {
 protected:
  void SetUp() override {
    if (!RayTracingDevice::supported(Context())) GTEST_SKIP() << "no ray-tracing pipelines";
  }
};

TEST_F(RayPerformance, shaders_of_a_trace_are_counted) {
  RayTracingDevice rays;
  Context& context = start_performance({}, rays.options());
  const RayScene scene(context, kRectangles, std::span(&kBox, 1));
  const Buffer image(context, kSide * kSide * sizeof(uint32_t));
  const RaySet set(context, scene, image);
  const PipelineLayout layout = make_pipeline_layout(context, {{set.layout()}}, 4);
  const Pipeline pipeline = make_ray_pipeline(
      context,
      {.stages = kAllStages, .groups = kAllGroups, .layout = layout, .instrumented = false});
  const BindingTable table(context, pipeline, static_cast<uint32_t>(kAllGroups.size()), kParts);
  const Performance query(*this, {"ray_shader_invocations", "ray_traces", "ray_traversals"});
  query.run([&](VkCommandBuffer commands) {
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_RAY_TRACING_KHR, pipeline);
    set.bind(commands, layout);
    const uint32_t seed = 0;
    vkCmdPushConstants(commands, layout, VK_SHADER_STAGE_ALL, 0, sizeof seed, &seed);
    trace_rays(context, commands, table, kSide, kSide);
    full_barrier(commands);
    trace_rays(context, commands, table, kSide, kSide);
    full_barrier(commands);
  });
  // Ray generation, miss, closest hit, any hit, intersection, callable.
  EXPECT_EQ(query.number("ray_shader_invocations"),
            2u * (64 + (24 + 16) + (28 + 12) + (16 + 16) + 16 + (4 + 4)));
  EXPECT_EQ(query.number("ray_traces"), 2u);
  // The primary rays, the second rays of the opaque rectangle, the calls.
  EXPECT_EQ(query.number("ray_traversals"), 2u * (64 + 16 + 8));
}

}  // namespace
}  // namespace tally::test
