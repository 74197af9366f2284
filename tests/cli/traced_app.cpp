// An application for the tests of `tally run`: traces the scene of known_answers/ray_scene.h once
// in each submission, without a window. Usage: traced_app SUBMISSIONS. The exit status is 77 if the
// device has no ray-tracing pipelines, 1 if the image is empty.
#include <cstdio>
#include <cstdlib>
#include <functional>

#include "known_answers/ray_scene.h"

namespace {

using namespace tally::test;

uint32_t trace(Context& context, int submissions) {
  const RayScene scene(context, kRectangles, std::span(&kBox, 1));
  const Buffer image(context, kSide * kSide * sizeof(uint32_t));
  const RaySet set(context, scene, image);
  const PipelineLayout layout = make_pipeline_layout(context, {{set.layout()}}, 4);
  const Pipeline pipeline = make_ray_pipeline(
      context,
      {.stages = kAllStages, .groups = kAllGroups, .layout = layout, .instrumented = false});
  const BindingTable table(context, pipeline, static_cast<uint32_t>(kAllGroups.size()), kParts);
  for (int i = 0; i < submissions; ++i) {
    context.run([&](VkCommandBuffer commands) {
      vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_RAY_TRACING_KHR, pipeline);
      set.bind(commands, layout);
      const uint32_t seed = 1;
      vkCmdPushConstants(commands, layout, VK_SHADER_STAGE_ALL, 0, sizeof seed, &seed);
      trace_rays(context, commands, table, kSide, kSide);
      full_barrier(commands);
    });
  }
  uint32_t bits = 0;
  for (const uint32_t texel : image.as<uint32_t>()) bits |= texel;
  return bits;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 99;
  if (!RayTracingDevice::supported(Context())) return 77;
  RayTracingDevice rays;
  Context context(rays.options());
  const uint32_t image = trace(context, std::atoi(argv[1]));
  std::puts("done");
  return image != 0 ? 0 : 1;
}
